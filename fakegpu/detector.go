package fakegpu

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// The detector of hazards. Whether an allocator keeps streams apart is not a
// question that the allocator can be asked; it is seen here, from what work does to
// memory. Three things meet: what happens before what (order.go), who has which
// bytes (lifetime.go), and who has used which bytes (uses.go).
//
//	work is given to a stream
//	  its ranges are claimed     memory that is there, and given out?   NoMemory, NotGivenOut
//	  each claim is a use        all earlier uses of the bytes, in
//	                             other lives, that conflict: before?    Unordered
//	memory goes back             all uses of it: seen to be over?       Returned
//
// What counts is when work is launched. Work that was launched while its memory was
// given out may well run after it was freed: that is what stream order is for. It
// only has to be over before the next owner's work begins.
//
// # Graphs
//
// Work that is captured claims its memory when it is captured, and uses it at every
// launch, in the life of the capture. That life may have ended meanwhile. Then the
// launch needs all of this, or it has Outlived its memory:
//
//   - the memory is there, and is the same physical memory;
//   - if nobody has the bytes now, the life was Captured: a graph's private memory
//     is free, to the allocator, while it waits for the next launch;
//   - if another life has them, both were captured in the same pool: graphs that
//     share a pool share its memory, and the program launches them one after the
//     other, which is then looked at as for any two lives.
//
// A life that has not ended is nothing special: static inputs and outputs.
//
// # What is not seen
//
// Races within one life are the program's business, unless Config.Races asks for them.
// The same physical memory at two addresses counts as two memories, and what another
// process does with shared memory is not followed.
type detector struct {
	races  bool // races within one life count as well
	order  order
	owners owners
	uses   uses
	found  []Hazard

	claimed []claim // room for those of the present work
	pairs   []pair  // told already of the present work
}

// claim is memory that work touches by right.
type claim struct {
	spec.Range
	write bool
	life  *Lifetime
	parts []part // of a node: the memory at the time of the capture
}

// pair is what is told once.
type pair struct {
	first, second         *act
	firstLife, secondLife *Lifetime
}

// detect is the process's detector, which is there from now on.
func (g *GPU) detect() *detector {
	if g.detector == nil {
		g.detector = &detector{order: newOrder(), races: g.machine.config.Races}
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
	m := d.order.give(s)
	a := &act{work: w.id, kind: workNames[w.kind], name: w.name, device: w.device, stream: s.handle}
	d.pairs = d.pairs[:0]
	for _, c := range d.claims(g, a, w) {
		d.use(&m, a, c)
	}
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
	if _, reason := g.resolve(by, c.Range, room[:0]); reason != "" {
		d.report(Hazard{Kind: NoMemory, Range: c.Range, Second: a.describe(c), Missing: reason})
		return
	}
	area := g.space.around(c.Ptr)
	if !area.managed {
		c.life = unmanaged
		d.claimed = append(d.claimed, c)
		return
	}
	d.owners.each(c.Range, func(r spec.Range, l *Lifetime) {
		part := claim{Range: r, write: c.write, life: l}
		if l == nil {
			d.reportNotGivenOut(a, part)
			return
		}
		d.claimed = append(d.claimed, part)
	})
}

func (d *detector) reportNotGivenOut(a *act, c claim) {
	h := Hazard{Kind: NotGivenOut, Range: c.Range, Second: a.describe(c), Missing: "nobody has the memory"}
	if last := d.uses.latest(c.Range); last != nil && last.life != unmanaged {
		h.First = last.export()
		h.Missing += fmt.Sprintf(", which was last used by %s in %v", h.First.who(), *last.life)
	}
	d.report(h)
}

// use looks at a claim beside all earlier uses of its bytes, and remembers it.
func (d *detector) use(m *moment, a *act, c claim) {
	second := &footprint{Range: c.Range, act: a, write: c.write, life: c.life, lane: m.lane, at: m.at, node: m.node}
	patches := d.uses.over(c.Range)
	for _, p := range patches {
		kept := p.by[:0]
		for _, u := range p.by {
			after := m.after(u.footprint)
			if !after && (u.life != c.life || d.races) && (u.write || c.write) {
				d.reportUnordered(u.footprint, second)
			}
			if !after || !d.superseded(&u, second) {
				kept = append(kept, u)
			}
		}
		clear(p.by[len(kept):])
		p.by = append(kept, use{footprint: second})
	}
	d.uses.merge(patches)
	if d.uses.sweepDue() {
		d.uses.sweep(&d.order)
	}
}

// superseded reports whether a use need not be remembered beside one that comes
// after it; see uses.go.
func (d *detector) superseded(u *use, f *footprint) bool {
	switch {
	case d.order.known(u.lane, u.at):
		return true
	case u.write && !f.write:
		return false
	case u.life == f.life, u.over != nil && u.over != f.life:
		return true
	}
	u.over = f.life
	return false
}

func (d *detector) reportUnordered(first, second *footprint) {
	told := pair{first.act, second.act, first.life, second.life}
	if d.full() || slices.Contains(d.pairs, told) {
		return
	}
	d.pairs = append(d.pairs, told)
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
// been seen to be over.
func (d *detector) returned(c call, r spec.Range) {
	var told []*act
	d.uses.forget(r, func(f *footprint) {
		if d.order.current.knows.of(f.lane) >= f.at || d.full() || slices.Contains(told, f.act) {
			return
		}
		told = append(told, f.act)
		h := Hazard{Kind: Returned, Range: r, First: f.export()}
		h.Missing = fmt.Sprintf("%v takes the memory away, and the host has not waited for %s", c, streamName(f.act.device, f.act.stream))
		d.report(h)
	})
}

// describe tells of a claim of a piece of work.
func (a *act) describe(c claim) *Access {
	e := &Access{
		Work: a.work, Kind: a.kind, Name: a.name, Graph: a.graph, Device: a.device, Stream: a.stream,
		Write: c.write, Range: c.Range,
	}
	if c.life != nil {
		e.Lifetime = *c.life
	}
	return e
}

// export tells of a use.
func (f *footprint) export() *Access {
	return f.act.describe(claim{Range: f.Range, write: f.write, life: f.life})
}
