package fakegpu

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// The detector of hazards. Whether an allocator keeps streams apart is not a
// question that the allocator can be asked; it is seen here, from what work does to
// memory. Three things meet: what happens before what (spec/happensbefore), who has which
// bytes (lifetime.go), and who has used which bytes (uses.go).
//
//	work is given to a stream
//	  its ranges are claimed     memory that is there, and allocated?   NoMemory, NotAllocated
//	  each claim is a use        all earlier uses of the bytes, in
//	                             other lifetimes, that conflict: before?    Unordered
//	memory goes back             all uses of it: seen to be over?       Returned
//
// What counts is when work is launched. Work that was launched while its memory was
// allocated may well run after it was freed: that is what stream order is for. It
// only has to be over before the next owner's work begins.
//
// Two rules of the order are this device's: Free waits for its device (cudaFree), so it
// orders as a wait of the host for it, except for the memory that is freed (release.go);
// and the legacy default stream waits for the
// others and they for it, if there is one (blocking.go). A launch of a graph is one piece
// of its stream's work; a launch of an executable graph comes after all earlier launches
// of the same one, in whatever stream.
//
// # Graphs
//
// Work that is captured claims its memory when it is captured, and uses it at every
// launch, in the lifetime of the capture. That lifetime may have ended meanwhile. Then the
// launch needs all of this, or it has Outlived its memory:
//
//   - the memory is there, and is the same physical memory;
//   - if nobody has the bytes now, the lifetime was Captured: a graph's private memory
//     is free, to the allocator, while it waits for the next launch;
//   - if another lifetime has them, both were captured in the same pool: graphs that
//     share a pool share its memory, and the program launches them one after the
//     other, which is then looked at as for any two lifetimes.
//
// A lifetime that has not ended is nothing special: static inputs and outputs.
//
// # What is not seen
//
// Races within one lifetime are reported only if Config.Races asks for them. The same physical
// memory at two addresses counts as two memories, and what another process does with shared memory
// is not followed.
type detector struct {
	races  bool // races within one lifetime count as well
	order  *happensbefore.Order
	owners owners
	uses   uses
	found  []Hazard

	inAllocator bool      // see InAllocator
	own         *Lifetime // of the work of the allocator's present call; nil: there is none yet

	claimed   []claim      // room for those of the present work
	pairs     []pair       // reported already of the present work
	unordered []*footprint // room for what a piece of work is not in order with
}

// claim is memory that work touches by right.
type claim struct {
	spec.Range
	write    bool
	lifetime *Lifetime
	parts    []part // of a node: the memory at the time of the capture
}

// pair is what is reported once.
type pair struct {
	first, second         *act
	firstLife, secondLife *Lifetime
}

// detect is the process's detector, which is there from now on.
func (g *GPU) detect() *detector {
	if g.detector == nil {
		g.detector = &detector{order: happensbefore.New(), races: g.machine.config.Races}
	}
	return g.detector
}

func (d *detector) report(h Hazard) {
	if !d.full() {
		d.found = append(d.found, h)
	}
}

// full reports whether no more hazards are kept, so that there is no need to put
// them in words.
func (d *detector) full() bool { return len(d.found) >= maxHazards }

// given: a piece of work was given to a stream that runs.
func (d *detector) given(g *GPU, s *stream, w *work) {
	if w.kind == workGraph {
		d.launched(g, s, w)
		return
	}
	m := d.submit(s)
	if len(w.reads)+len(w.writes) == 0 {
		return
	}
	a := &act{work: w.id, kind: w.kind, name: w.name, device: w.device, stream: s.handle, ends: w.ends, line: g.line, both: w.onDevices()}
	d.pairs = d.pairs[:0]
	for _, c := range d.claims(g, a, w) {
		d.use(&m, a, c)
	}
}

// lane is that of a stream, which gets it when it is first needed.
func (d *detector) lane(s *stream) *happensbefore.Lane {
	if s.lane == nil {
		s.lane = d.order.NewLane(spec.DeviceStream{Device: s.device, Stream: s.handle})
		if s.blocking {
			d.order.SetBlocking(s.lane)
		}
	}
	return s.lane
}

// moment is when a piece of work was submitted to a stream.
type moment struct {
	happensbefore.Moment
	node *node // of a graph
}

func (d *detector) submit(s *stream) moment { return moment{Moment: d.order.Submit(d.lane(s))} }

// after reports whether an earlier access is certain to be over at the moment.
// Within one launch of a graph the graph decides; a piece of work other than a
// graph is in order with itself.
func (m *moment) after(f *footprint) bool {
	if f.Epoch == m.Epoch && m.node != nil {
		return m.node.comesAfter(f.node)
	}
	return m.Clock.Covers(f.Epoch)
}

// claims are the memory that work touches and may touch; what it may not is
// reported. The list is good until the next call.
func (d *detector) claims(g *GPU, a *act, w *work) []claim {
	d.claimed = d.claimed[:0]
	for _, r := range w.reads {
		d.claim(g, a, claim{Range: r}, w.reader)
	}
	for _, r := range w.writes {
		d.claim(g, a, claim{Range: r, write: true}, w.writer)
	}
	return d.claimed
}

// claim adds to the claims what a device may touch of a range.
func (d *detector) claim(g *GPU, a *act, c claim, by spec.Device) {
	if c.Bytes == 0 {
		return
	}
	var room [4]part
	area := g.space.around(c.Ptr)
	if _, reason := g.resolveIn(area, by, c.Range, room[:0]); reason != "" {
		d.report(Hazard{Kind: NoMemory, Range: c.Range, Second: a.describe(c), Missing: reason})
		return
	}
	if !area.managed {
		c.lifetime = unmanaged
		d.claimed = append(d.claimed, c)
		return
	}
	if l, found := d.owners.byPtr.Get(c.Ptr); found && c.End() <= l.Range.End() {
		c.lifetime = d.acting(l)
		d.claimed = append(d.claimed, c)
		return
	}
	d.claimParts(a, c)
}

// claimParts adds the parts of a range to the claims that have one owner each.
func (d *detector) claimParts(a *act, c claim) {
	d.owners.each(c.Range, func(r spec.Range, l *Lifetime) {
		part := claim{Range: r, write: c.write, lifetime: d.acting(l)}
		if part.lifetime == nil {
			d.reportNotGivenOut(a, part)
			return
		}
		d.claimed = append(d.claimed, part)
	})
}

// acting is the lifetime in which work uses memory that a lifetime has, or nobody: that of the allocator's
// own work, if the allocator gives it. The driver's pool gives its work in its own lifetimes.
func (d *detector) acting(l *Lifetime) *Lifetime {
	if !d.inAllocator || l != nil && l.Yields {
		return l
	}
	if d.own == nil {
		d.owners.number++
		d.own = &Lifetime{Number: d.owners.number, Owner: "the allocator's own work"}
	}
	return d.own
}

func (d *detector) reportNotGivenOut(a *act, c claim) {
	h := Hazard{Kind: NotAllocated, Range: c.Range, Second: a.describe(c), Missing: "nobody has the memory"}
	if last := d.uses.latest(c.Range); last != nil && last.lifetime != unmanaged {
		h.First = last.export()
		h.Missing += fmt.Sprintf(", which was last used by %s in %v", h.First.who(), *last.lifetime)
	}
	d.report(h)
}

// use looks at a claim beside all earlier uses of its bytes, and remembers it.
func (d *detector) use(m *moment, a *act, c claim) {
	if d.full() { // nothing will be reported of what is remembered
		d.uses.patches.Clear()
		if d.uses.sweepDue() {
			d.uses.sweep(d.order)
		}
		return
	}
	d.uses.number++
	second := a.footprint()
	*second = footprint{
		Range: c.Range, act: a, write: c.write, lifetime: c.lifetime,
		Epoch: m.Epoch, node: m.node, number: d.uses.number,
	}
	patches := d.uses.over(c.Range)
	for _, p := range patches {
		d.meet(p, m, second)
	}
	d.uses.merge(patches)
	if d.uses.sweepDue() {
		d.uses.sweep(d.order)
	}
}

func (d *detector) reportUnordered(first, second *footprint) {
	found := pair{first.act, second.act, first.lifetime, second.lifetime}
	if d.full() || slices.Contains(d.pairs, found) {
		return
	}
	d.pairs = append(d.pairs, found)
	from, end := max(first.Ptr, second.Ptr), min(first.End(), second.End())
	h := Hazard{
		Kind:  Unordered,
		Range: spec.Range{Ptr: from, Bytes: uint64(end - from)},
		First: first.export(), Second: second.export(),
	}
	h.Missing = adviceFor(h.First, h.Second)
	d.report(h)
}

// returned: a call of the driver takes memory away. Whoever has used it must have
// been seen to be over, except work of devices that the call itself waits for.
func (d *detector) returned(c call, r spec.Range, waitsFor access) {
	var reported []*act
	d.uses.forget(r, func(f *footprint) {
		if d.order.Seen(f.Epoch) || f.act.both&waitsFor != 0 || d.full() || slices.Contains(reported, f.act) {
			return
		}
		reported = append(reported, f.act)
		h := Hazard{Kind: Returned, Range: r, First: f.export()}
		h.Missing = fmt.Sprintf("%v takes the memory away, and the host has not waited for %s", c, f.act.waitedFor())
		d.report(h)
	})
}

// waitedFor is what the host waits for to know that the work is over.
func (a *act) waitedFor() string {
	if a.host {
		return fmt.Sprintf("%s %q", workNames[a.kind], a.name)
	}
	return streamName(a.device, a.stream)
}

// describe is the access that a piece of work makes by a claim.
func (a *act) describe(c claim) *Access {
	e := &Access{
		Work: a.work, Kind: workNames[a.kind], Name: a.name, Graph: a.graph, Host: a.host, Ends: a.ends, Line: a.line, Device: a.device, Stream: a.stream,
		Write: c.write, Range: c.Range,
	}
	if c.lifetime != nil {
		e.Lifetime = *c.lifetime
	}
	return e
}

// export is the access of a use.
func (f *footprint) export() *Access {
	e := f.act.describe(claim{Range: f.Range, write: f.write, lifetime: f.lifetime})
	e.Epoch = f.Epoch
	return e
}
