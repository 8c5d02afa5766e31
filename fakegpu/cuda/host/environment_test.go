//go:build cgo && linux

package host

import (
	"path/filepath"
	"testing"
	"time"

	"gaugeblock/spec"
)

// TestVariables: what each variable says, and which words make no sense. The first that is wrong is told.
func TestVariables(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "no", "file")
	for _, test := range []struct {
		variables [2]string // name and value
		wrong     string    // what is told, or
		holds     func(p *Process) bool
	}{
		{[2]string{devicesVariable, "0"}, devicesVariable + "=0: it is a number from 1 to 16", nil},
		{[2]string{devicesVariable, "17"}, devicesVariable + "=17: it is a number from 1 to 16", nil},
		{[2]string{devicesVariable, "two"}, devicesVariable + "=two: it is a whole number", nil},
		{[2]string{devicesVariable, "3"}, "", func(p *Process) bool { return p.GPU.DeviceCount() == 3 }},
		{[2]string{memoryVariable, "much"}, memoryVariable + "=much: it is a size such as 80GiB", nil},
		{[2]string{memoryVariable, "3GiB"}, "", func(p *Process) bool { return total(p) == 3*spec.GiB }},
		{[2]string{memoryVariable, ""}, "", func(p *Process) bool { return total(p) == 80*spec.GiB }},
		{[2]string{bytesVariable, "host"}, "", func(p *Process) bool { return total(p) == spec.GiB && p.InHost && !p.NoBytes }},
		{[2]string{bytesVariable, "none"}, "", func(p *Process) bool { return !p.InHost && p.NoBytes }},
		{[2]string{bytesVariable, "runs"}, "", func(p *Process) bool { return !p.InHost && !p.NoBytes }},
		{[2]string{bytesVariable, "paper"}, bytesVariable + "=paper: it is one of runs, host, none", nil},
		{[2]string{gpuVariable, "H200"}, "", func(p *Process) bool {
			free, all, err := p.GPU.MemInfo(0)
			return err == nil && free < all && len(p.Attributes) > 0
		}},
		{[2]string{gpuVariable, ""}, "", func(p *Process) bool {
			free, all, err := p.GPU.MemInfo(0)
			return err == nil && free == all
		}},
		{[2]string{addressesVariable, "none"}, addressesVariable + "=none: it is one of real, process, ascending", nil},
		{[2]string{scheduleVariable, "slow"}, scheduleVariable + "=slow: it is one of eager, lazy, random, time", nil},
		{[2]string{scheduleVariable, "time"}, "", func(p *Process) bool { return p.watchdog != nil }},
		{[2]string{scheduleVariable, "lazy"}, "", func(p *Process) bool { return p.watchdog == nil }},
		{[2]string{watchdogVariable, "told"}, "", func(p *Process) bool { return p.watchdog != nil }},
		{[2]string{watchdogVariable, "real"}, "", func(p *Process) bool { return p.watchdog == nil }},
		{[2]string{lateVariable, "7"}, "", func(p *Process) bool { return p.WatchdogLate == 7*time.Millisecond }},
		{[2]string{seedVariable, "-1"}, seedVariable + "=-1: it is a whole number", nil},
		{[2]string{slowerVariable, "0"}, slowerVariable + "=0: it is a number above 0", nil},
		{[2]string{hostVariable, "1e6"}, hostVariable + "=1e6: it is a number above 0", nil},
		{[2]string{ranksVariable, "x"}, ranksVariable + "=x: it is a number above 0", nil},
		{[2]string{hazardsVariable, "some"}, hazardsVariable + "=some: it is one of races, owners, off", nil},
		{[2]string{threadsVariable, "2"}, threadsVariable + "=2: it is one of one, own", nil},
		{[2]string{threadsVariable, "own"}, "", func(p *Process) bool { return p.Threads }},
		{[2]string{threadsVariable, "one"}, "", func(p *Process) bool { return !p.Threads }},
		{[2]string{waitsVariable, "fail"}, "", func(p *Process) bool { return p.Waits == WaitsAnswer }},
		{[2]string{waitsVariable, "drain"}, "", func(p *Process) bool { return p.Waits == WaitsAnswer }},
		{[2]string{waitsVariable, ""}, "", func(p *Process) bool { return p.Waits == WaitsBlock && p.Illegal && p.CallersDiffer && p.Report != nil }},
		{[2]string{defaultVariable, "flags"}, "", func(p *Process) bool { return p.Blocking }},
		{[2]string{defaultVariable, "ordinary"}, "", func(p *Process) bool { return !p.Blocking }},
		{[2]string{defaultVariable, "legacy"}, "", func(p *Process) bool { return p.Blocking }},
		{[2]string{peersVariable, "maybe"}, peersVariable + "=maybe: it is one of yes, no", nil},
		{[2]string{faultsVariable, "Malloc:1"}, faultsVariable + `: "Malloc:1" is not CALL:NTH:ERROR`, nil},
		{[2]string{faultsVariable, "Malloc:x:unknown"}, faultsVariable + `: "Malloc:x:unknown": strconv.Atoi: parsing "x": invalid syntax`, nil},
		{[2]string{faultsVariable, ",Malloc:2:unknown,"}, "", func(p *Process) bool {
			_, first := p.GPU.Malloc(0, spec.MiB)
			_, second := p.GPU.Malloc(0, spec.MiB)
			return first == nil && second != nil
		}},
		{[2]string{logVariable, nowhere}, logVariable + ": open " + nowhere + ": no such file or directory", nil},
		{[2]string{machineVariable, nowhere}, machineVariable + "=" + nowhere + ": listen unix " + nowhere + ": bind: no such file or directory", nil},
	} {
		p, err := FromEnvironment(func(name string) string {
			if name == test.variables[0] {
				return test.variables[1]
			}
			return ""
		})
		switch {
		case test.wrong != "" && (err == nil || err.Error() != test.wrong):
			t.Errorf("%q: %v, not %s", test.variables, err, test.wrong)
		case test.wrong == "" && (err != nil || !test.holds(p)):
			t.Errorf("%q: %v, or it does not hold", test.variables, err)
		}
	}
	_, err := FromEnvironment(func(name string) string {
		return map[string]string{bytesVariable: "host", addressesVariable: "real"}[name]
	})
	if want := addressesVariable + "=real: with " + bytesVariable + "=host the addresses are such as the host has"; err == nil || err.Error() != want {
		t.Errorf("%v, not %s", err, want)
	}
}

func total(p *Process) uint64 {
	properties, err := p.GPU.Properties(0)
	if err != nil {
		return 0
	}
	return properties.TotalMemory
}
