package linearizability

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/tests/suites/sizes"
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

	// Callback lists allocations, by name. When a malloc finds no cached block, a
	// free-memory callback frees the first of them that exists and that it has not freed
	// before.
	Callback []string

	// Pauses are the places where threads may pause, beside between two operations.
	Pauses Pause

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
	return alloc.New(driver, alloc.Options{Settings: s.Settings})
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
	if len(s.Callback) > 0 {
		list("callback", s.Callback)
	}
	if s.Strict {
		words = append(words, "strict")
	}
	list("pauses", s.Pauses.names())
	return strings.Join(words, " ")
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

// initial is the specification's state of a device at the start.
func (s *Setup) initial(dev spec.Device) (model.State, error) {
	g := spec.DefaultGeometry()
	cfg, err := settings.Parse(s.Settings, g)
	if err != nil {
		return model.State{}, err
	}
	state := model.New(dev, s.Memory, cfg, g)
	state.FreeMemoryCallbacks = len(s.Callback) > 0
	state, result := state.SetMemoryFraction(s.fraction())
	return state, result.Err
}

// releasesLock reports whether the allocator's lock is released during the driver call.
func (s *Setup) releasesLock() bool {
	cfg, err := settings.Parse(s.Settings, spec.DefaultGeometry())
	return err == nil && cfg.ReleaseLockOnMalloc
}

// newGPU makes the devices. A call that waits for a busy stream completes the stream's work,
// as in the specification. Addresses are those of a replay without recorded addresses, so
// that counterexamples can be replayed.
func (s *Setup) newGPU() (*fakegpu.GPU, error) {
	gpu := fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(s.Devices, s.Memory), Waits: fakegpu.WaitsDrain})
	for dev := range spec.Device(s.Devices) {
		gpu.UseScript(dev, fakegpu.NewScript())
		for i := range s.Streams {
			if err := gpu.AddStream(dev, s.stream(dev, i+1)); err != nil {
				return nil, err
			}
		}
	}
	return gpu, nil
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
