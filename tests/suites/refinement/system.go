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

	overflow    map[spec.PoolID]bool // pools with use_on_oom
	routed      map[spec.PoolID]spec.Stream
	checkpoints map[spec.PoolID]checkpoint
	earlier     map[graphStreamUse]bool // stream uses that were recorded before the capture and in it again
}

// NewSystem sets up the initial state of a configuration.
func NewSystem(initial *bounded.State, c *tlc.Config) (*System, error) {
	sys := &System{
		initial: initial, overflow: map[spec.PoolID]bool{},
		routed: map[spec.PoolID]spec.Stream{}, checkpoints: map[spec.PoolID]checkpoint{}, earlier: map[graphStreamUse]bool{},
	}
	streams, err := c.Numbers("Streams")
	if err != nil {
		return nil, err
	}
	pools, err := c.Numbers("OverflowPools")
	if err != nil {
		return nil, err
	}
	for _, id := range pools {
		sys.overflow[bounded.PoolID(id)] = true
	}
	return sys, sys.setUp(streams)
}

func (sys *System) setUp(streams []uint64) (err error) {
	initial := sys.initial
	sys.gpu = fakegpu.New(fakegpu.Config{
		Devices:         fakegpu.Devices(1, initial.Memory),
		Addresses:       func(spec.Device) fakegpu.AddressPolicy { return &lowestHole{from: bounded.AddressBase} },
		PageGranularity: initial.Geometry.MinBlock,
		Waits:           fakegpu.WaitsDrain,
	})
	sys.driver = &recordingDriver{sys.gpu, map[spec.Stream]*workQueue{}, map[spec.EventHandle]int{}, sys.routed}
	for _, number := range streams {
		s := spec.Stream(number)
		if err := sys.gpu.AddStream(0, s); err != nil {
			return err
		}
		sys.driver.queues[s] = &workQueue{gpu: sys.gpu, stream: s}
	}
	sys.allocator, err = alloc.New(sys.driver, alloc.Options{Geometry: initial.Geometry, Config: &initial.Config})
	if err == nil && initial.Limited {
		err = sys.allocator.SetMemoryFraction(0, float64(initial.Limit)/float64(initial.Memory))
	}
	return err
}

// streams lists the streams of the device.
func (sys *System) streams() []spec.Stream { return slices.Sorted(maps.Keys(sys.driver.queues)) }

// Do does the action of a label. A malloc that is out of memory is no error here: the states
// are compared.
func (sys *System) Do(label string) error {
	name, n, err := bounded.ParseLabel(label)
	if err != nil {
		return err
	}
	switch name {
	case "Malloc":
		return sys.malloc(spec.Request{Stream: spec.Stream(n[0]), Bytes: uint64(n[1])})
	case "Free":
		return sys.free(sys.address(n[0]))
	case "RecordStream":
		return sys.recordStream(sys.address(n[0]), spec.Stream(n[1]))
	case "Complete":
		if !sys.gpu.OpenGate(0, spec.Stream(n[0])) {
			return fmt.Errorf("%s: nothing is left to complete", label)
		}
		return nil
	case "EmptyCache":
		return sys.allocator.EmptyCache()
	}
	return sys.doPool(name, n)
}

// address is the address of a unit of memory.
func (sys *System) address(unit int) spec.Ptr { return bounded.AddressBase + spec.Ptr(unit) }

func (sys *System) malloc(r spec.Request) error {
	ptr, err := sys.allocator.Malloc(r)
	maps.DeleteFunc(sys.earlier, func(u graphStreamUse, _ bool) bool { return u.block == ptr })
	if err != nil && trace.ErrorName(err) == trace.ErrorOOM {
		return nil
	}
	return err
}

// free launches the last use of a block in each stream that uses it, and then frees it.
// Captured work is in a graph, and does not run.
func (sys *System) free(ptr spec.Ptr) error {
	var uses []spec.StreamUseView
	block := spec.Range{Ptr: ptr}
	err := sys.allocator.Inspect(0, spec.Visitor{
		Block: func(b *spec.BlockView) {
			if b.Address == ptr {
				block.Bytes = b.Size
			}
		},
		StreamUse: func(u *spec.StreamUseView) {
			if u.Block == ptr && (!u.DuringRouting || sys.earlier[graphStreamUse{ptr, u.Stream.Stream}]) {
				uses = append(uses, *u)
			}
		},
	})
	if err != nil {
		return err
	}
	for _, u := range uses {
		if err := sys.driver.queues[u.Stream.Stream].launch(block); err != nil {
			return err
		}
	}
	return sys.allocator.Free(ptr)
}

// recordStream records a stream use. Work from before a capture is on the device, although
// the allocator drops the stream use if it is recorded again in the capture.
func (sys *System) recordStream(ptr spec.Ptr, s spec.Stream) error {
	use := graphStreamUse{ptr, s}
	err := sys.allocator.Inspect(0, spec.Visitor{StreamUse: func(u *spec.StreamUseView) {
		if u.Block == ptr && u.Stream.Stream == s && !u.DuringRouting && len(sys.routed) > 0 {
			sys.earlier[use] = true
		}
	}})
	if err != nil {
		return err
	}
	return sys.allocator.RecordStream(ptr, 0, s)
}
