package perform

import (
	"errors"
	"fmt"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Factory makes the allocator that operations are performed on, with the
// settings, geometry and devices that the header asks for. An error that wraps
// spec.ErrNotSupported says that it cannot have such settings.
type Factory func(driver spec.Driver, h *trace.Header) (spec.Allocator, error)

// A machine is an allocator on a fake GPU, and what the numbers of the trace
// stand for there.
type machine struct {
	header    *trace.Header
	hardware  *fakegpu.Machine
	fake      *fakegpu.GPU
	gpu       Device            // the fake, or what was put around it
	scripts   []*fakegpu.Script // by device
	allocator spec.Allocator

	expandable bool // the settings may have turned expandable segments on

	observed bool   // the allocator is a spec.Observable
	out      Result // of the present operation, as far as it is known

	reads, writes []spec.Range // room for those of a kernel

	// room, if given, is where the trace entries of the next operation go: see Player.Reuse.
	room []spec.TraceEntry

	streams     map[spec.Stream]spec.Device // those that the GPU has been given
	captured    []spec.DeviceStream         // those whose capture was begun and not ended, in order
	latest      map[spec.Device]spec.Stream // of the malloc performed last
	allocations map[int64]allocation
	marks       map[int]mark
	checkpoints map[int]checkpoint
	graphs      map[int]graph
	shared      map[int]spec.SharedHandle
	trees       *trees

	other  otherProcess                // that opens what this one shares
	opened map[int64]spec.OpenedMemory // by it
}

// allocation is memory that is allocated, by the trace.
type allocation struct {
	ptr    spec.Ptr
	bytes  uint64 // as requested
	device spec.Device
}

// newMachine sets up what the header describes. Before any set_memory_fraction a
// trace has no limit, whatever its settings say: the recorder took it away.
func newMachine(h *trace.Header, newAllocator Factory, hardware Hardware, around Around) (*machine, error) {
	m := &machine{
		header: h, expandable: NamesExpandable(h.Settings),
		streams:     map[spec.Stream]spec.Device{},
		latest:      map[spec.Device]spec.Stream{},
		allocations: map[int64]allocation{},
		marks:       map[int]mark{},
		checkpoints: map[int]checkpoint{},
		graphs:      map[int]graph{},
		shared:      map[int]spec.SharedHandle{},
		trees:       newTrees(h),
		other:       otherProcess{newAllocator: newAllocator},
		opened:      map[int64]spec.OpenedMemory{},
	}
	if err := m.setUpDevices(hardware, around); err != nil {
		return nil, err
	}
	var err error
	if m.allocator, err = newAllocator(m.gpu, h); err != nil {
		return nil, err
	}
	if observable, able := m.allocator.(spec.Observable); able {
		m.observed = true
		observable.OnTrace(func(e spec.HistoryEntry) { m.out.Entries = append(m.out.Entries, e.TraceEntry) })
	}
	if limiter, able := m.allocator.(spec.MemoryLimiter); able {
		for dev := range h.Devices {
			if err := limiter.SetMemoryFraction(spec.Device(dev), 1); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// perform does one operation and returns what came of it.
func (m *machine) perform(op *trace.Op) Result {
	m.out = Result{Entries: m.room[:0]}
	m.loadScript(op)
	defer m.onThread(op)()
	defer m.asCaller(op)()
	k, known := kinds[op.Kind]
	switch {
	case !known:
		m.out.Err = &spec.NotSupportedError{Op: string(op.Kind), Reason: "operations of this kind cannot be performed"}
	case k.needs != nil && !k.needs.Has(m.allocator):
		m.out.Err = lacks(op.Kind, k.needs.Name)
	default:
		m.out.Err = k.perform(m, op)
	}
	if errors.Is(m.out.Err, ErrSkipped) {
		m.out.Err, m.out.Skipped = nil, true
	}
	m.out.AddressRanges = append(m.out.AddressRanges, m.scripts[op.Device].Reserved()...)
	return m.out
}

// badOp is an operation that makes no sense, which only whoever performs it can notice.
func (m *machine) badOp(op *trace.Op, reason string) error {
	return &trace.Error{Line: op.Line, Reason: fmt.Sprintf("%s: %s", op.Kind, reason)}
}
