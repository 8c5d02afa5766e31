package linearizability

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/sizes"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/upstream"
)

// A Setup is the allocator and the devices of a run. The zero value is the reference
// allocator with its default settings, on one device of 1 GiB.
type Setup struct {
	// New makes the allocator; nil means the reference.
	New Factory

	Devices  int    // 0 counts as 1
	Memory   uint64 // bytes of each device; 0 counts as 1 GiB
	Limit    uint64 // of the reserved bytes of each device; 0 means no limit
	Streams  int    // of each device, beside the default stream
	Settings string // as in PYTORCH_ALLOC_CONF

	Uncached bool // caching is off at first
	Handles  int  // of memory of another process, for open_shared

	// Callback lists allocations, by name. When a malloc finds no cached block, a
	// free-memory callback frees the first of them that exists and that it has not freed
	// before.
	Callback []string

	// Functions of the program that the allocator calls, as functions_test.go has them.
	Functions []string

	// Pauses are the places where threads may pause, beside between two operations.
	Pauses Pause

	// Unjudged: results are not compared with the specification, which leaves out what the program
	// does: driver calls that fail, pools with memory of their own, reuse within a capture.
	Unjudged bool

	// Recorded: the history is recorded from the start, and every snapshot must be what its history says.
	Recorded bool

	// Strict checks every malloc as one action, even where the allocator releases
	// its lock.
	Strict bool
}

// A Factory makes the allocator under test on a driver. The limit is set later, through
// spec.MemoryLimiter. Allocators that are wrong on purpose call pause where another thread
// may run.
type Factory func(driver spec.Driver, s *Setup, pause func()) (spec.Allocator, error)

// Reference makes the reference allocator.
func Reference(driver spec.Driver, s *Setup, _ func()) (spec.Allocator, error) {
	return alloc.New(driver, alloc.Options{Settings: s.Settings, Uncached: s.Uncached})
}

// filled is the setup with its zero values replaced by the defaults.
func (s Setup) filled() Setup {
	if s.New == nil {
		s.New = Reference
	}
	s.Devices = max(s.Devices, 1)
	if s.Memory == 0 {
		s.Memory = spec.GiB
	}
	return s
}

// String writes the setup as an explore command of testdata has it, without the
// allocator, which has no name.
func (s *Setup) String() string {
	var words []string
	add := func(key, value string) { words = append(words, key+"="+value) }
	list := func(key string, values []string) { add(key, "("+strings.Join(values, ",")+")") }
	if s.Limit > 0 {
		add("limit", sizes.Format(s.Limit))
	}
	if s.Memory > 0 {
		add("memory", sizes.Format(s.Memory))
	}
	if s.Devices > 1 {
		add("devices", strconv.Itoa(s.Devices))
	}
	if s.Streams > 0 {
		add("streams", strconv.Itoa(s.Streams))
	}
	if s.Settings != "" {
		list("settings", []string{s.Settings})
	}
	if s.Handles > 0 {
		add("handles", strconv.Itoa(s.Handles))
	}
	if s.Uncached {
		words = append(words, "uncached")
	}
	if len(s.Callback) > 0 {
		list("callback", s.Callback)
	}
	if len(s.Functions) > 0 {
		list("functions", s.Functions)
	}
	if s.Unjudged {
		words = append(words, "unjudged")
	}
	if s.Recorded {
		words = append(words, "recorded")
	}
	if s.Strict {
		words = append(words, "strict")
	}
	list("pauses", s.Pauses.names())
	return strings.Join(words, " ")
}

// Set sets what String writes as key=value.
func (s *Setup) Set(key string, values []string) (err error) {
	value := strings.Join(values, " ")
	switch key {
	case "limit":
		s.Limit, err = sizes.Parse(value)
	case "memory":
		s.Memory, err = sizes.Parse(value)
	case "devices":
		s.Devices, err = strconv.Atoi(value)
	case "streams":
		s.Streams, err = strconv.Atoi(value)
	case "handles":
		s.Handles, err = strconv.Atoi(value)
	case "settings":
		s.Settings = strings.Join(values, ",")
	case "pauses":
		s.Pauses, err = ParsePauses(values)
	case "callback":
		s.Callback = values
	case "functions":
		s.Functions = values
	case "strict":
		s.Strict = true
	case "unjudged":
		s.Unjudged = true
	case "recorded":
		s.Recorded = true
	case "uncached":
		s.Uncached = true
	default:
		return fmt.Errorf("unknown argument")
	}
	return err
}

// fraction is the limit as a fraction of the device's memory, 1 without one.
func (s *Setup) fraction() float64 {
	if s.Limit == 0 {
		return 1
	}
	return float64(s.Limit) / float64(s.Memory)
}

// stream is the handle of a device's stream. Handles differ between devices.
func (s *Setup) stream(dev spec.Device, index int) spec.Stream {
	if index == 0 {
		return 0
	}
	return spec.Stream(100*(int(dev)+1) + index)
}

// hasCallbacks reports whether a malloc calls functions that are to free memory, for which it releases the lock.
func (s *Setup) hasCallbacks() bool {
	return len(s.Callback) > 0 || slices.ContainsFunc(s.Functions, func(f string) bool { return strings.HasPrefix(f, "callback-") })
}

// initial is the specification's state of a device at the start.
func (s *Setup) initial(dev spec.Device) (model.State, error) {
	g := spec.DefaultGeometry()
	cfg, err := settings.Parse(s.Settings, g)
	if err != nil {
		return model.State{}, err
	}
	state := model.New(dev, s.Memory, cfg, g, upstream.Rules{})
	state.FreeMemoryCallbacks = s.hasCallbacks()
	state, result := state.SetMemoryFraction(s.fraction())
	return state, result.Err
}

// releasesLock reports whether the allocator's lock is released during the driver call.
func (s *Setup) releasesLock() bool {
	cfg, err := settings.Parse(s.Settings, spec.DefaultGeometry())
	return err == nil && cfg.ReleaseLockOnMalloc
}

// newGPU makes the devices, and handles of memory of another process. A call that waits for a busy
// stream completes the stream's work, as in the specification. Addresses are those of a replay
// without recorded addresses, so that counterexamples can be replayed.
func (s *Setup) newGPU() (gpu *fakegpu.GPU, handles [][]byte, err error) {
	machine := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(s.Devices, s.Memory), Waits: fakegpu.WaitsDrain})
	gpu = machine.NewProcess()
	for dev := range spec.Device(s.Devices) {
		gpu.UseScript(dev, fakegpu.NewScript())
		for i := range s.Streams {
			if err := gpu.AddStream(dev, s.stream(dev, i+1)); err != nil {
				return nil, nil, err
			}
		}
	}
	if s.Handles > 0 {
		handles, err = shareFrom(machine.NewProcess(), s.Handles)
	}
	return gpu, handles, err
}

// shareFrom makes handles of another process's memory: of a segment, of pages, and so on in turn.
func shareFrom(other *fakegpu.GPU, n int) (handles [][]byte, err error) {
	for i := range n {
		a, err := alloc.New(other, alloc.Options{Settings: []string{"", "expandable_segments:True"}[i%2]})
		if err != nil {
			return nil, err
		}
		p, err := a.Malloc(spec.Request{Bytes: spec.MiB})
		if err != nil {
			return nil, err
		}
		h, err := a.ShareHandle(p)
		if err != nil {
			return nil, err
		}
		handles = append(handles, h.Handle)
	}
	return handles, nil
}

// newAllocator makes the allocator under test on a driver.
func (s *Setup) newAllocator(driver spec.Driver, pause func()) (spec.Allocator, error) {
	a, err := s.New(driver, s, pause)
	if err != nil || s.Limit == 0 {
		return a, err
	}
	limiter, able := a.(spec.MemoryLimiter)
	if !able {
		return nil, &spec.NotSupportedError{Op: "linearizability", Reason: "the allocator is not a spec.MemoryLimiter"}
	}
	for dev := range spec.Device(s.Devices) {
		if err := limiter.SetMemoryFraction(dev, s.fraction()); err != nil {
			return nil, fmt.Errorf("device %d: %w", dev, err)
		}
	}
	return a, nil
}
