package conformance_test

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// examined are the allocators that the kit is tried on here; tests/arena has two more.
var examined = map[string]perform.Factory{
	"reference": reference.New,
	"bump":      newBump,
	"bestfit":   newBestFit,
}

// TestReports shows what the kit says of each. testdata/reports.txt is written anew by
// "go test ./conformance -run Reports -rewrite", which is to be done when the
// programs have changed.
func TestReports(t *testing.T) {
	if race.Enabled {
		t.Skip("a search of one goroutine, of which the race detector sees nothing")
	}
	datadriven.RunTest(t, "testdata/reports.txt", func(t *testing.T, d *datadriven.TestData) string {
		var allocator, level string
		d.ScanArgs(t, "allocator", &allocator)
		d.ScanArgs(t, "level", &level)
		operations := 0
		d.ScanArgs(t, "operations", &operations)
		options := []conformance.Option{conformance.Against(reference.New), conformance.Operations(operations)}
		if d.HasArg("contract") {
			options = append(options, conformance.ForContract(conformance.Contract{Threads: true, DestroysStreams: true, FailingEvents: true, Aligned: d.HasArg("aligned")}))
		}
		report, err := conformance.Examine(examined[allocator], levels[level], options...)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return report.String()
	})
}

var levels = map[string]conformance.Level{"safe": conformance.Safe, "caching": conformance.Caching, "exact": conformance.Exact}

// TestLevels: which rules are broken does not depend on the programs.
func TestLevels(t *testing.T) {
	for _, test := range []struct {
		allocator string
		reached   conformance.Level
		broken    []string
		longest   int // operations of any program
	}{
		{"reference", conformance.Exact, nil, 0},
		{"bestfit", conformance.Caching, []string{"DecidesAsTheReference", "RequestsFit", "SizesAndAlignment"}, 2},
		{"bump", conformance.Safe, []string{"DecidesAsTheReference", "ReuseNeedsNoDriver", "SplitsAndCoalesces", "WasteIsBounded"}, 24},
	} {
		t.Run(test.allocator, func(t *testing.T) {
			report, err := conformance.Examine(examined[test.allocator], conformance.Exact,
				conformance.Against(reference.New), conformance.Seed(1000), conformance.Operations(20_000))
			if err != nil {
				t.Fatal(err)
			}
			if report.Reached != test.reached {
				t.Errorf("reached %v, want %v", report.Reached, test.reached)
			}
			if diff := cmp.Diff(test.broken, broken(report)); diff != "" {
				t.Errorf("rules that are broken (- want, + got):\n%s", diff)
			}
			for i := range report.Violations {
				if _, ops := report.Violations[i].Program(); len(ops) > test.longest {
					t.Errorf("a program of %d operations is not the shortest:\n%v", len(ops), &report.Violations[i])
				}
			}
		})
	}
}

// broken lists the rules of a report, by name.
func broken(r *conformance.Report) []string {
	var names []string
	for i := range r.Violations {
		names = append(names, r.Violations[i].Rule.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Each of these is like another allocator, and different in one way.
type (
	forgetful struct{ spec.Allocator } // keeps nothing
	dying     struct{ spec.Allocator } // panics
	blind     struct{ spec.Allocator } // does not know what it holds
	onlyOne   struct{ spec.Allocator } // has no streams
	careless  struct{ spec.Allocator } // believes its callers
	odd       struct{ spec.Allocator } // aligns to 256 bytes
	stingy    struct{ spec.Allocator } // has no memory long before that is so
	vague     struct{ spec.Allocator } // does not say what it could not obtain
	lenient   struct {                 // does not mind a second free
		spec.Allocator
		freed map[spec.Ptr]bool
	}
)

func (f forgetful) Free(p spec.Ptr) error {
	err := f.Allocator.Free(p)
	if err == nil {
		_ = f.EmptyCache() // which may have to wait for what nothing ends
	}
	return err
}

func (d dying) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes == 2*spec.MiB {
		panic("two mebibytes")
	}
	return d.Allocator.Malloc(r)
}

func (blind) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, errors.New("cannot see")
}

func (onlyOne) RecordStream(spec.Ptr, spec.Device, spec.Stream) error {
	return &spec.NotSupportedError{Op: "record_stream", Reason: "there is one stream"}
}

func (c careless) Free(p spec.Ptr) error {
	_ = c.Allocator.Free(p)
	return nil
}

func (l lenient) Free(p spec.Ptr) error {
	err := l.Allocator.Free(p)
	if err == nil {
		l.freed[p] = true
	} else if l.freed[p] {
		return nil
	}
	return err
}

func (s stingy) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes > 8*spec.MiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes, SegmentSize: r.Bytes, DeviceFree: spec.GiB}
	}
	return s.Allocator.Malloc(r)
}

func (v vague) Malloc(r spec.Request) (spec.Ptr, error) {
	p, err := v.Allocator.Malloc(r)
	if errors.Is(err, spec.ErrOutOfMemory) {
		err = &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	return p, err
}

func (o odd) Malloc(r spec.Request) (spec.Ptr, error) {
	if r.Bytes == 0 || r.Bytes >= spec.EiB {
		return o.Allocator.Malloc(r)
	}
	r.Bytes += 256
	p, err := o.Allocator.Malloc(r)
	if err != nil {
		return 0, err
	}
	return p + 256, nil
}

func (o odd) Free(p spec.Ptr) error { return o.Allocator.Free(max(p, 256) - 256) }

func (o odd) RecordStream(p spec.Ptr, dev spec.Device, s spec.Stream) error {
	return o.Allocator.RecordStream(max(p, 256)-256, dev, s)
}

// changed makes an allocator by changing another one, of which nothing but
// spec.Allocator is seen.
func changed[T spec.Allocator](make perform.Factory, change func(spec.Allocator) T) perform.Factory {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		a, err := make(driver, h)
		return change(struct{ spec.Allocator }{a}), err
	}
}

func TestRulesBite(t *testing.T) {
	unusedCache := []string{"ReuseNeedsNoDriver", "SplitsAndCoalesces", "WasteIsBounded"}
	for _, test := range []struct {
		name    string
		factory perform.Factory
		options []conformance.Option
		broken  []string
	}{
		{"forgetful", changed(newBestFit, func(a spec.Allocator) forgetful { return forgetful{a} }), nil, []string{"KeepsWhatItGetsBack"}},
		{"dying", changed(newBestFit, func(a spec.Allocator) dying { return dying{a} }), nil, []string{"NoPanics"}},
		{"no streams", changed(newBestFit, func(a spec.Allocator) onlyOne { return onlyOne{a} }), nil, nil},
		{"careless", changed(newBump, func(a spec.Allocator) careless { return careless{a} }), nil, append([]string{"MisuseIsRefused"}, unusedCache...)},
		{"careless and known for it", changed(newBump, func(a spec.Allocator) careless { return careless{a} }), []conformance.Option{conformance.TrustsCallers()}, unusedCache},
		{"lenient", changed(newBump, func(a spec.Allocator) lenient { return lenient{a, map[spec.Ptr]bool{}} }), nil, append([]string{"MisuseIsRefused"}, unusedCache...)},
		{"stingy", changed(newBestFit, func(a spec.Allocator) stingy { return stingy{a} }), nil, []string{"OutOfMemoryIsTrue"}},
		{"vague", changed(reference.New, func(a spec.Allocator) vague { return vague{a} }), []conformance.Option{conformance.Keeps(conformance.KeepsNoMemory)}, nil},
		{"vague and stingy", changed(newBestFit, func(a spec.Allocator) vague { return vague{stingy{a}} }), nil, []string{"OutOfMemoryIsTrue"}},
		{"odd", changed(newBump, func(a spec.Allocator) odd { return odd{a} }), nil, append([]string{"PointersAreAligned"}, unusedCache...)},
		{"odd and known for it", changed(newBump, func(a spec.Allocator) odd { return odd{a} }), []conformance.Option{conformance.Align(256)}, unusedCache},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := append(test.options, conformance.Operations(20_000))
			report, err := conformance.Examine(test.factory, conformance.Caching, options...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(test.broken)), broken(report)); diff != "" {
				t.Errorf("rules that are broken (- want, + got):\n%s\n%v", diff, report)
			}
		})
	}
}

// TestNoExamination: what is no fault of the allocator's code is an error.
func TestNoExamination(t *testing.T) {
	for _, test := range []struct {
		name    string
		factory perform.Factory
		level   conformance.Level
		want    string
	}{
		{"nothing to compare with", reference.New, conformance.Exact, "conformance: level exact needs to know what to compare with: see Against"},
		{"cannot be made", func(spec.Driver, *trace.Header) (spec.Allocator, error) { return nil, errors.New("no") }, conformance.Safe, "the allocator cannot be made: no"},
		{"does not know what it holds", changed(reference.New, func(a spec.Allocator) blind { return blind{a} }), conformance.Safe, "the allocator cannot be observed: observe: device 0: cannot see"},
	} {
		if _, err := conformance.Examine(test.factory, test.level); err == nil || err.Error() != test.want {
			t.Errorf("%s: the error is %v, want %s", test.name, err, test.want)
		}
	}
}

// TestKitKnowsNoAllocator: an author who imports the kit does not get the reference
// with it.
func TestKitKnowsNoAllocator(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(strings.Fields(string(out)), "gaugeblock/alloc") {
		t.Error("conformance imports alloc")
	}
}

// TestTraces: the program of a violation is a trace that the reference can replay.
func TestTraces(t *testing.T) {
	report, err := conformance.Examine(newBump, conformance.Caching, conformance.Operations(10_000), conformance.Traces(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		_, ops := v.Program()
		result, err := replay.File(v.File, replay.Options{New: reference.New})
		if err != nil || result.FirstDifference != nil || result.NotSupported != "" || result.Operations != len(ops) {
			t.Errorf("%s: %v, %v", v.File, &result, err)
		}
	}
	if len(report.Violations) == 0 {
		t.Error("there are no violations")
	}
}
