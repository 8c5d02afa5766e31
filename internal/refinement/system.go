package refinement

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/model/bounded"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A System is the reference allocator on a device with the model's memory.
type System struct {
	initial   *bounded.State // of the model: settings, geometry, memory
	gpu       *fakegpu.GPU
	driver    *recordingDriver
	allocator *alloc.Allocator
	current   spec.Stream    // of the caller of the step, 0 if the step has none
	caller    spec.Allocator // the allocator for that caller

	overflow    map[spec.PoolID]bool // pools with use_on_oom
	noSplit     map[spec.PoolID]bool // pools with no_split
	uncaptured  map[spec.PoolID]bool // routed to without a capture
	routed      *RoutedGPU           // that the driver reports
	checkpoints map[spec.PoolID]checkpoint

	keepsCheckpoints bool // the program keeps the checkpoint of a pool beyond its last use

	record *bounded.State // of which the Truth is used

	calls *Calls // where a malloc releases the lock
	freed bool   // what the callbacks answer that a malloc calls

	marks  bool // the program marks its captures
	marked int  // captures that were marked as begun, and not as ended

	mostEvents int // that were needed at a time

	faults     int // failures of driver calls so far
	after      map[callAfter]int
	configured bool // a setting may have been changed
}

// NewSystem sets up the initial state of a configuration.
func NewSystem(initial *bounded.State, c *tlc.Config) (*System, error) {
	sys := &System{
		initial: initial, overflow: map[spec.PoolID]bool{}, noSplit: map[spec.PoolID]bool{}, uncaptured: map[spec.PoolID]bool{},
		checkpoints: map[spec.PoolID]checkpoint{}, calls: NewCalls(), after: map[callAfter]int{},
	}
	streams, err := c.Numbers("Streams")
	if err != nil {
		return nil, err
	}
	for name, marked := range map[string]map[spec.PoolID]bool{
		"OverflowPools": sys.overflow, "NoSplitPools": sys.noSplit, "UncapturedPools": sys.uncaptured,
	} {
		numbers, err := c.Numbers(name)
		if err != nil {
			return nil, err
		}
		for _, number := range numbers {
			marked[bounded.PoolID(number)] = true
		}
	}
	if sys.keepsCheckpoints, err = c.Bool("KeepsCheckpoints"); err != nil {
		return nil, err
	}
	if sys.marks, err = c.Bool("MarksCaptures"); err != nil {
		return nil, err
	}
	maxSplits, err := c.Numbers("MaxSplitSizes")
	if err != nil {
		return nil, err
	}
	sys.configured = len(maxSplits) > 1
	return sys, sys.setUp(streams)
}

func (sys *System) setUp(streams []uint64) (err error) {
	initial := sys.initial
	sys.gpu = fakegpu.New(fakegpu.Config{
		Devices:         fakegpu.Devices(1, initial.Memory),
		Addresses:       func(spec.Device) fakegpu.AddressPolicy { return &lowestHole{from: bounded.AddressBase} },
		PageGranularity: initial.Geometry.MinBlock,
		Waits:           fakegpu.WaitsDrain,
		FreeWaits:       initial.FreeWaits,
	})
	record := *initial
	sys.record = &record
	sys.routed = &RoutedGPU{GPU: sys.gpu, Uncaptured: sys.uncaptured}
	sys.driver = &recordingDriver{
		RoutedGPU: sys.routed, queues: map[spec.Stream]*workQueue{}, launchedBefore: map[spec.EventHandle]int{},
		record: sys.record, calls: sys.calls, releasesLock: initial.Config.ReleaseLockOnMalloc,
		mapped: map[spec.Ptr]mappedPage{}, unmapped: map[spec.PageHandle]spec.Stream{}, after: sys.after,
	}
	for _, number := range streams {
		s := spec.Stream(number)
		if err := sys.gpu.AddStream(0, s); err != nil {
			return err
		}
		sys.driver.queues[s] = &workQueue{gpu: sys.gpu, stream: s}
	}
	sys.allocator, err = alloc.New(sys.driver, alloc.Options{Geometry: initial.Geometry, Config: &initial.Config, Rules: initial.Rules})
	if err == nil && initial.FreeMemoryCallbacks {
		err = sys.allocator.OnNeedMemory(sys.callback)
	}
	if err == nil && initial.Limited {
		err = sys.allocator.SetMemoryFraction(0, float64(initial.Limit)/float64(initial.Memory))
	}
	return err
}

// setCurrent makes a stream the current one of the steps that follow.
func (sys *System) setCurrent(stream *int) {
	sys.current = 0
	if stream != nil {
		sys.current = spec.Stream(*stream)
	}
	sys.caller = sys.allocator.For(spec.Caller{Current: spec.DeviceStream{Stream: sys.current}})
}

// streams lists the streams of the device.
func (sys *System) streams() []spec.Stream { return slices.Sorted(maps.Keys(sys.driver.queues)) }

// Do does the action of a label, without failing driver calls. A malloc that is out of memory is no
// error here: the states are compared.
func (sys *System) Do(label string) error {
	name, n, err := bounded.ParseLabel(label)
	if err != nil {
		return err
	}
	name, n, current := bounded.CurrentOf(name, n)
	sys.setCurrent(current)
	switch name {
	case "Malloc":
		return sys.malloc(spec.Request{Stream: spec.Stream(n[0]), Bytes: uint64(n[1])})
	case "Free":
		return sys.free(sys.address(n[0]))
	case "Launch":
		return sys.launchOwn(sys.address(n[0]))
	case "RecordStream":
		return sys.recordStream(sys.address(n[0]), spec.Stream(n[1]))
	case "Complete":
		if !sys.gpu.OpenGate(0, spec.Stream(n[0])) {
			return fmt.Errorf("%s: nothing is left to complete", label)
		}
		return nil
	case "MallocSearch", "DriverMalloc", "MallocResume", "CallbacksReturn":
		return sys.doTwoStep(name, n)
	case "EmptyCache":
		return sys.caller.EmptyCache()
	case "Configure":
		return sys.allocator.Configure(bounded.MaxSplitSettings(uint64(n[0])))
	}
	return sys.doPool(name, n)
}

// address is the address of a unit of memory.
func (sys *System) address(unit int) spec.Ptr { return bounded.AddressBase + spec.Ptr(unit) }

func (sys *System) malloc(r spec.Request) error {
	sys.driver.stream = r.Stream
	ptr, err := sys.allocator.Malloc(r)
	if err != nil && trace.ErrorName(err) == trace.ErrorOOM {
		return nil
	}
	if err == nil {
		sys.hold(ptr, r)
	}
	return err
}

// free launches the last uses of the memory at an address, and then frees it.
func (sys *System) free(ptr spec.Ptr) error {
	if err := sys.launchUses(ptr); err != nil {
		return err
	}
	sys.record.Truth = sys.record.Truth.GiveBack(ptr)
	return sys.caller.Free(ptr)
}

func (sys *System) recordStream(ptr spec.Ptr, s spec.Stream) error {
	if sys.heldAt(ptr).Stream == s { // no other stream uses it
		return sys.caller.RecordStream(ptr, 0, s)
	}
	captured := sys.record.Truth.InCapture()
	if sys.current != 0 {
		captured = sys.record.Truth.IsCaptured(sys.current)
	}
	sys.record.Truth = sys.record.Truth.TouchIn(ptr, spec.DeviceStream{Stream: s}, captured)
	return sys.caller.RecordStream(ptr, 0, s)
}
