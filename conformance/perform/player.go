package perform

import (
	"errors"
	"maps"
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A Player performs operations one at a time, as the replay of a trace needs it, and a
// program that is made up on the way.
type Player struct {
	machine *machine
	reuses  bool
}

// Result is what came of one operation.
type Result struct {
	Err     error             // how it failed
	Skipped bool              // nothing was done, for what it is about was never made (ErrSkipped)
	Ptr     spec.Ptr          // malloc: the address that was returned
	Entries []spec.TraceEntry // the allocator's trace entries
	Freed   []int64           // what need_memory callbacks freed meanwhile

	// AddressRanges are what cuMemAddressReserve returned on the operation's device, in order.
	AddressRanges []spec.Range

	Restored spec.RestoreDelta      // restore: what the allocator says it changed
	Tree     *trace.TreeExpectation // a call of a graph tree: what is seen afterwards
}

// New sets up the devices that the header describes, and an allocator.
func New(h *trace.Header, newAllocator Factory) (*Player, error) {
	return NewOn(h, newAllocator, nil, nil)
}

// NewOn does so on changed hardware, with something around the fake device; nil changes
// nothing, and puts nothing around it.
func NewOn(h *trace.Header, newAllocator Factory, hardware Hardware, around Around) (*Player, error) {
	m, err := newMachine(h, newAllocator, hardware, around)
	if err != nil {
		return nil, err
	}
	return &Player{machine: m}, nil
}

// Reuse says that the trace entries of what was performed are not looked at any more when the
// next operation is performed, so that they can be in the same memory.
func (p *Player) Reuse() { p.reuses = true }

// Choose says where the driver puts memory if the trace does not tell (fakegpu.Script.Choose).
func (p *Player) Choose(choose func(spec.Device, fakegpu.Choice) spec.Ptr) {
	for dev, script := range p.machine.scripts {
		script.Choose(func(q fakegpu.Choice) spec.Ptr { return choose(spec.Device(dev), q) })
	}
}

// Observed reports whether trace entries of the allocator are seen: whether it is a spec.Observable.
func (p *Player) Observed() bool { return p.machine.observed }

// Perform does one operation, which must make sense by the header.
func (p *Player) Perform(op *trace.Op) Result {
	out := p.machine.perform(op)
	if p.reuses {
		p.machine.room = out.Entries
	}
	return out
}

// Allocator is the one that the operations are performed on.
func (p *Player) Allocator() spec.Allocator { return p.machine.allocator }

// GPU is the fake device that they are performed on.
func (p *Player) GPU() *fakegpu.GPU { return p.machine.fake }

// Close puts away what belongs to the program and not to the allocator: events,
// graphs, trees and streams. What is left on the device after that is the allocator's.
func (p *Player) Close() error {
	m := p.machine
	failures := m.trees.close(m)
	for _, number := range slices.Sorted(maps.Keys(m.marks)) {
		failures = errors.Join(failures, m.gpu.DestroyEvent(m.marks[number].event))
	}
	for _, number := range slices.Sorted(maps.Keys(m.graphs)) {
		g := m.graphs[number]
		failures = errors.Join(failures, m.gpu.DestroyGraphExec(g.exec), m.gpu.DestroyGraph(g.captured))
	}
	for _, handle := range slices.Sorted(maps.Keys(m.streams)) {
		failures = errors.Join(failures, m.gpu.DestroyStream(m.streams[handle], handle))
	}
	if other, closes := m.other.allocator.(interface{ Close() error }); closes {
		failures = errors.Join(failures, other.Close())
	}
	return failures
}

// Leaks lists what is still held of the devices, by whichever process.
func (p *Player) Leaks() []string {
	leaks := p.machine.fake.Leaks()
	if other := p.machine.other.gpu; other != nil {
		for _, leak := range other.Leaks() {
			leaks = append(leaks, "the other process: "+leak)
		}
	}
	return leaks
}
