//go:build cgo && linux

package host

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gaugeblock/fakegpu"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
)

// The variables that set a machine up. fakegpu/cuda/README.md explains them.
const (
	devicesVariable   = "GAUGEBLOCK_CUDA_DEVICES"
	memoryVariable    = "GAUGEBLOCK_CUDA_MEMORY"
	gpuVariable       = "GAUGEBLOCK_CUDA_GPU"
	addressesVariable = "GAUGEBLOCK_CUDA_ADDRESSES"
	scheduleVariable  = "GAUGEBLOCK_CUDA_SCHEDULE"
	seedVariable      = "GAUGEBLOCK_CUDA_SEED"
	slowerVariable    = "GAUGEBLOCK_CUDA_SLOWER"
	hostVariable      = "GAUGEBLOCK_CUDA_HOST_SLOWER"
	ranksVariable     = "GAUGEBLOCK_CUDA_RANKS_SLOWER"
	rankVariable      = "RANK"       // that of torchrun
	worldVariable     = "WORLD_SIZE" // the same
	hazardsVariable   = "GAUGEBLOCK_CUDA_HAZARDS"
	waitsVariable     = "GAUGEBLOCK_CUDA_WAITS"
	faultsVariable    = "GAUGEBLOCK_CUDA_FAULTS"
	reportVariable    = "GAUGEBLOCK_CUDA_REPORT"
	defaultVariable   = "GAUGEBLOCK_CUDA_DEFAULT_STREAM"
	peersVariable     = "GAUGEBLOCK_CUDA_PEERS"
	machineVariable   = "GAUGEBLOCK_CUDA_MACHINE"
	bytesVariable     = "GAUGEBLOCK_CUDA_BYTES"
	threadsVariable   = "GAUGEBLOCK_CUDA_THREADS"
	logVariable       = "GAUGEBLOCK_CUDA_LOG"
	watchdogVariable  = "GAUGEBLOCK_CUDA_WATCHDOG"
	lateVariable      = "GAUGEBLOCK_CUDA_WATCHDOG_LATE"
)

// settings are the variables as far as they are read, with the first thing that is wrong.
type settings struct {
	get func(string) string
	err error
}

// choose is the value that a word stands for; without the variable it is the first.
func choose[T any](s *settings, variable string, words []string, values ...T) T {
	given := s.get(variable)
	if given == "" {
		return values[0]
	}
	for i, w := range words {
		if w == given {
			return values[i]
		}
	}
	s.fail("%s=%s: it is one of %s", variable, given, strings.Join(words, ", "))
	return values[0]
}

func (s *settings) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *settings) number(variable string, otherwise uint64) uint64 {
	given := s.get(variable)
	if given == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		s.fail("%s=%s: it is a whole number", variable, given)
	}
	return n
}

func (s *settings) bytes(variable string, otherwise uint64) uint64 {
	given := s.get(variable)
	if given == "" {
		return otherwise
	}
	n, err := humanize.ParseBytes(given)
	if err != nil {
		s.fail("%s=%s: it is a size such as 80GiB", variable, given)
	}
	return n
}

// FromEnvironment makes the machine that environment variables describe, and its only
// process. The error names the variable that makes no sense.
func FromEnvironment(get func(string) string) (*Process, error) {
	s := &settings{get: get}
	devices := s.number(devicesVariable, 1)
	if devices < 1 || devices > fakegpu.MaxDevices {
		s.fail("%s=%d: it is a number from 1 to %d", devicesVariable, devices, fakegpu.MaxDevices)
		devices = 1
	}
	gpu := s.gpu()
	bytes := choose(s, bytesVariable, []string{"runs", "host", "none"}, "runs", "host", "none")
	inHost := bytes == "host"
	config := fakegpu.Config{
		Devices:   fakegpu.Devices(int(devices), s.bytes(memoryVariable, cmp.Or(gpu.Memory, defaultMemory(inHost)))),
		Addresses: choose(s, addressesVariable, []string{"real", "process", "ascending"}, fakegpu.RealLike, fakegpu.ProcessLike, fakegpu.Ascending),
		FreeWaits: true,

		NoPeerAccess:    choose(s, peersVariable, []string{"yes", "no"}, false, true),
		BlockingStreams: get(defaultVariable) == "legacy",
	}
	for i := range config.Devices {
		config.Devices[i].Name = gpu.Name
	}
	var p *Process
	times := durations(gpu, s.factor(slowerVariable), s.factor(hostVariable), func() spec.Thread { return p.caller().Thread })
	if most := s.factor(ranksVariable); most != 1 && s.number(worldVariable, 1) > 1 {
		times.Behind = behind(most, s.number(seedVariable, 0), s.number(rankVariable, 0))
	}
	byTime := fakegpu.ByTime(times)
	config.Schedule = choose(s, scheduleVariable, []string{"eager", "lazy", "random", "time"}, nil, fakegpu.Lazy(), fakegpu.Random(s.number(seedVariable, 1)), byTime)
	hazards := choose(s, hazardsVariable, []string{"races", "owners", "off"}, 0, 1, 2)
	config.Races, config.Hazards = hazards == 0, hazards == 1
	threads := choose(s, threadsVariable, []string{"one", "own"}, false, true)
	waits := choose(s, waitsVariable, []string{"block", "drain", "fail"}, WaitsBlock, WaitsAnswer, WaitsAnswer)
	if get(waitsVariable) == "drain" {
		config.Waits = fakegpu.WaitsDrain
	}
	if inHost {
		if given := get(addressesVariable); given != "" {
			s.fail("%s=%s: with %s=host the addresses are such as the host has", addressesVariable, given, bytesVariable)
		}
		memory, err := newFileMemory()
		if err != nil {
			return nil, fmt.Errorf("%s=host: %w", bytesVariable, err)
		}
		config.HostMemory, config.Addresses = memory, hostAddresses
	}
	machine := fakegpu.NewMachine(config)
	p = NewProcess(machine.NewProcess())
	p.Waits, p.Illegal, p.InHost, p.NoBytes = waits, true, inHost, bytes == "none"
	p.CallersDiffer = true
	p.setWatchdog(s, config.Schedule == byTime)
	p.Blocking = choose(s, defaultVariable, []string{"flags", "ordinary", "legacy"}, true, false, true)
	p.Log = s.log()
	p.Threads = threads && hazards != 2
	p.take(gpu)
	for _, planned := range strings.Split(get(faultsVariable), ",") {
		if planned != "" {
			s.plan(p.GPU, planned)
		}
	}
	path := get(reportVariable)
	p.Report = func() error { return p.writeReport(path) }
	if where := get(machineVariable); where != "" && s.err == nil {
		return p, p.join(machine, where)
	}
	return p, s.err
}

// setWatchdog says what NCCL's watchdog sees: at places that the program tells, or by the clock of a schedule by time.
func (p *Process) setWatchdog(s *settings, timed bool) {
	told := choose(s, watchdogVariable, []string{"real", "told"}, false, true)
	if timed || told {
		p.watchdog = newWatchdog(!timed)
	}
	p.WatchdogLate = time.Duration(s.number(lateVariable, 0)) * time.Millisecond
	if slower := s.factor(slowerVariable); slower >= blind {
		p.WatchdogLate = time.Hour
	}
}

// log is where the names of functions go that are not there.
func (s *settings) log() io.Writer {
	path := s.get(logVariable)
	if path == "" {
		return os.Stderr
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.fail("%s: %v", logVariable, err)
	}
	return file
}

// gpu is the kind of device that is named; without a name, it has no name either.
func (s *settings) gpu() (gpu gpus.GPU) {
	word := s.get(gpuVariable)
	if word == "" {
		return gpu
	}
	gpu, found := gpus.Find(word)
	if !found {
		s.fail("%s=%s: it is one of %s", gpuVariable, word, strings.Join(gpus.Words(), ", "))
	}
	return gpu
}

// take gives the process devices of a kind: their attributes, and less memory by what a process
// takes before its first allocation.
func (p *Process) take(gpu gpus.GPU) {
	if gpu.Name == "" {
		return
	}
	p.Attributes = gpu.Attributes()
	for dev := range spec.Device(p.GPU.DeviceCount()) {
		if properties, err := p.GPU.Properties(dev); err == nil && properties.TotalMemory > gpu.Context {
			late := gpu.Late()
			p.GPU.SetFreeMemory(dev, properties.TotalMemory-gpu.Context+late.Kernel+late.Product)
			p.GPU.SetLateMemory(dev, late)
		}
	}
}

// defaultMemory is what a device has if nothing else is said: memory that is the host's own is
// bounded by it.
func defaultMemory(inHost bool) uint64 {
	if inHost {
		return spec.GiB
	}
	return 80 * spec.GiB
}

// plan reads a fault: CALL:NTH:ERROR.
func (s *settings) plan(g *fakegpu.GPU, planned string) {
	parts := strings.Split(planned, ":")
	if len(parts) != 3 {
		s.fail("%s: %q is not CALL:NTH:ERROR", faultsVariable, planned)
		return
	}
	nth, err := strconv.Atoi(parts[1])
	if err == nil {
		err = g.Inject(spec.FaultSpec{Call: parts[0], Nth: nth, Error: parts[2]})
	}
	if err != nil {
		s.fail("%s: %q: %v", faultsVariable, planned, err)
	}
}

// writeReport writes what was found to a file, or, if it has no name and there is anything,
// to the program's error output.
func (p *Process) writeReport(path string) error {
	found := p.GPU.Hazards()
	var b strings.Builder
	fmt.Fprintf(&b, "fake CUDA: %d hazards\n", len(found))
	for _, h := range found {
		fmt.Fprintf(&b, "fake CUDA: %v\n", h)
	}
	for _, v := range p.GPU.Violations() {
		fmt.Fprintf(&b, "fake CUDA: violation: %v\n", v)
	}
	if path != "" {
		return os.WriteFile(path, []byte(b.String()), 0o644)
	}
	if len(found)+len(p.GPU.Violations()) > 0 {
		_, err := os.Stderr.WriteString(b.String())
		return err
	}
	return nil
}
