package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A Program is the state of a program while it is made up: memory, streams, pools, captures,
// graphs, and so on. The state decides what may come next: Prepare says whether an operation is
// one that a sensible program could perform now, and Did changes the state.
//
// The rules are those of CUDA and of the contract in spec. Each stands once (kinds_*.go), and
// generators and minimiser rely on nothing else. A program here is a little more careful than
// it would have to be, so that what goes wrong is the allocator's fault. It avoids what makes
// upstream reuse memory too early (docs/invariants.md, NoReuseWhileInUse):
//
//   - It does not free memory whose uses would be forgotten (careful.go).
//   - It does not record a stream for the same memory both in a capture and
//     outside.
//   - It captures only while requests of the device are routed to a pool.
type Program struct {
	header trace.Header
	area   *Area

	memory  []*memory // the allocations, oldest first
	streams []streamState
	order   *happensbefore.Order // of the streams
	pools   []*poolState         // all that ever were
	// stream uses of memory whose frees are deferred
	deferred []deferredUse
	states   map[int]*savedState
	graphs   []*graphState // that are there, oldest first
	events   []*eventState // that were recorded
	handles  []handle      // that were made of allocations
	opened   []int64

	captures []*captureState // under way
	marked   []spec.Device   // those of captures that were marked as begun
	// begun while no requests are routed to a pool: the next operation must route its
	unrouted *captureState
	enabled  bool
	asleep   bool        // nothing touches memory: kinds_in_place.go
	exposes  bool        // forgotten uses: see ExposeForgottenUses
	spoils   bool        // captures: see InvalidateCaptures
	config   spec.Config // in force
	rules    upstream.Rules
	peers    [][2]spec.Device // the first reaches the second's memory

	latest struct { // what kind has answered last
		name trace.OpKind
		kind *kind
	}

	ids, stateIDs, graphIDs, eventIDs, handleIDs, poolIDs int
}

// memory is an allocation.
type memory struct {
	id       int64
	device   spec.Device
	slot     int // of its stream
	size     uint64
	ptr      spec.Ptr
	pool     *poolState // nil: the default pool
	uses     []use
	uncached bool
	lent     bool // to a callback, which may free it
	shared   bool // with another process, so that it has to stay

	touched []touch // see contract.go; empty if uses are recorded

	// See careful.go.
	start    happensbefore.Epoch // its allocation, among its stream's work
	captured *captureState       // the capture that it was allocated in, if any
	node     happensbefore.Epoch // its allocation there, among its stream's nodes
	// a stream outside of captures was recorded while requests were routed to a pool
	routed bool
}

// use is a stream that was recorded for memory.
type use struct {
	slot     int
	captured bool
}

// poolState is a private pool.
type poolState struct {
	device   spec.Device
	id       spec.PoolID
	useCount int
	overflow bool // use_on_oom: others' memory may lie in it
	used     bool // streams were recorded for memory of it

	graphs bool // it has served captures
	others bool // it has served other requests
	// if it is of graphs: what touched its memory last, after all others; zero if nothing did
	latest happensbefore.Epoch

	begun  bool
	since  int // the order in which pools were begun
	by     trace.PoolFilter
	thread spec.Thread
	slot   int
	of     *captureState
}

// deferredUse is a stream's use of memory that was freed in a possible capture. No event has been recorded for it.
type deferredUse struct {
	device spec.Device // the memory's
	pool   *poolState  // the memory's; nil is the default pool
	slot   int
}

// handle stands for memory that another process can open.
type handle struct {
	number int
	of     int64 // the allocation
}

// handle is the one with the number, nil if there is none.
func (p *Program) handle(number int) *handle {
	for i := range p.handles {
		if p.handles[i].number == number {
			return &p.handles[i]
		}
	}
	return nil
}

// savedState is a checkpoint of a pool, with what was allocated in it.
type savedState struct {
	pool *poolState
	live []memory
}

// has reports whether the allocation was there then.
func (s *savedState) has(id int64) bool {
	return slices.ContainsFunc(s.live, func(m memory) bool { return m.id == id })
}

// newProgram is a program that has done nothing yet.
func newProgram(area *Area, h trace.Header) *Program {
	p := &Program{header: h, area: area, order: happensbefore.New(), states: map[int]*savedState{}, enabled: true}
	p.latest.kind = &unlisted
	version, _, _ := upstream.OfTrace(h.Release, h.Source) // the allocator refuses what is wrong
	p.rules = version.Rules
	p.config, _ = p.rules.Settings.Parse(h.Settings, h.Geometry)
	for dev := range spec.Device(h.Devices) {
		p.addStream(dev, 0)
	}
	for i := range h.Streams[1:] {
		p.addStream(spec.Device(i/area.Streams), i+1)
	}
	return p
}

func (p *Program) addStream(dev spec.Device, index int) {
	s := spec.DeviceStream{Device: dev, Stream: p.header.Streams[index]}
	p.streams = append(p.streams, streamState{
		device: dev, index: index,
		busy: p.order.NewLane(s), work: p.order.NewLane(s), nodes: p.order.NewGraphLane(s),
	})
}

// slot is the stream's place in Program.streams; -1 if the index is of a stream of
// another device.
func (p *Program) slot(dev spec.Device, index int) int {
	return slices.IndexFunc(p.streams, func(s streamState) bool { return s.device == dev && s.index == index })
}

// find is the allocation with the number, nil if it is not allocated.
func (p *Program) find(id int64) *memory {
	for _, m := range p.memory {
		if m.id == id {
			return m
		}
	}
	return nil
}

func (p *Program) forget(id int64) {
	p.memory = slices.DeleteFunc(p.memory, func(m *memory) bool { return m.id == id })
	p.handles = slices.DeleteFunc(p.handles, func(h handle) bool { return h.of == id })
}

// pool is the one with the id on the device, nil if there never was one.
func (p *Program) pool(dev spec.Device, id spec.PoolID) *poolState {
	for _, q := range p.pools {
		if q.device == dev && q.id == id {
			return q
		}
	}
	return nil
}

// routed reports whether any requests of the device are routed to a pool.
func (p *Program) routed(dev spec.Device) bool {
	return slices.ContainsFunc(p.pools, func(q *poolState) bool { return q.begun && q.device == dev })
}

// poolFor is the pool that serves a request: the one begun last, or, if the rules say so,
// first, whose filter accepts it; nil is the default pool.
func (p *Program) poolFor(op *trace.Op) *poolState {
	var latest *poolState
	slot := p.slot(op.Device, op.Stream)
	for _, q := range p.pools {
		if !q.begun || q.device != op.Device || latest != nil && (latest.since > q.since) != p.rules.FirstRoutingWins {
			continue
		}
		switch {
		case q.by == trace.ByThread && q.thread == op.Thread,
			q.by == trace.ByStream && p.streams[q.slot].index == op.Stream,
			q.by == trace.ByCapture && q.of == p.streams[slot].capture && q.of != nil && !q.of.spoiled:
			latest = q
		}
	}
	return latest
}

// reaches reports whether work on a device may touch memory of another one.
func (p *Program) reaches(dev, memory spec.Device) bool {
	return dev == memory || slices.Contains(p.peers, [2]spec.Device{dev, memory})
}

func (p *Program) anyRouted() bool {
	return slices.ContainsFunc(p.pools, func(q *poolState) bool { return q.begun })
}

func (p *Program) state(op *trace.Op) *streamState { return &p.streams[p.slot(op.Device, op.Stream)] }

// runs reports whether the stream's work completes at the latest when somebody waits for it. On
// a device that does not wait (trace.Header.Waits) work that touches memory is given only to
// such streams, or to captured ones: there the allocator's frees do not wait for streams that
// are held, whose work could then touch memory that is gone.
func (p *Program) runs(op *trace.Op) bool {
	return p.header.Waits || p.held(p.slot(op.Device, op.Stream)) == 0
}
