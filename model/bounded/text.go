package bounded

import (
	"gaugeblock/model"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Text implements Module. tla/State.tla explains the variables.
func (c *CachingAllocator) Text(to []byte, s *model.State) []byte {
	w := newWriter(s)
	c.variables(w)
	return w.finish(to)
}

// variables are those of tla/State.tla.
func (c *CachingAllocator) variables(w *writer) {
	w.variable("blocks", w.blocks)
	w.variable("cached", w.cached)
	w.truth()
	w.variable("events", func() { w.Sequence(len(c.Streams), func(i int) { w.events(c.Streams[i]) }) })
	w.variable("segments", w.segments)
	w.variable("stats", w.stats)
	w.variable("work", func() { w.Sequence(len(c.Streams), func(i int) { w.work(c.Streams[i]) }) })
}

// A writer writes one state.
type writer struct {
	tlc.Writer
	state  *model.State
	places []place
	ends   []int // of the variables
}

func newWriter(s *model.State) *writer {
	w := &writer{state: s}
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			w.places = append(w.places, place{&s.Segments[i], &s.Segments[i].Blocks[j]})
		}
	}
	return w
}

// finish appends the variables, in order.
func (w *writer) finish(to []byte) []byte {
	return append(to, tlc.SortPieces(w.Writer.Text, w.ends, "\n")...)
}

// A place is a block and its segment.
type place struct {
	segment *model.Segment
	block   *model.Block
}

func (w *writer) variable(name string, value func()) {
	w.Raw(name)
	w.Raw("=")
	value()
	w.ends = append(w.ends, len(w.Writer.Text))
}

// field writes a name and a number. The first field comes with the bracket.
func (w *writer) field(name string, n int) {
	w.Raw(name)
	w.Raw("|->")
	w.Int(n)
}

// placesOf are the places of the blocks that satisfy a predicate.
func (w *writer) placesOf(is func(b *model.Block) bool) (places []place) {
	for _, p := range w.places {
		if is(p.block) {
			places = append(places, p)
		}
	}
	return places
}

func isInactive(b *model.Block) bool  { return b.State == spec.Inactive }
func isMapped(b *model.Block) bool    { return !b.Unmapped }
func isAllocated(b *model.Block) bool { return b.State == spec.ActiveAllocated }

func (w *writer) blocks() {
	w.Set(len(w.places), func(i int) {
		b := w.places[i].block
		requested := int(b.RequestedSize)
		if isInactive(b) {
			requested = 0
		}
		w.field("[addr", toUnits(b.Address))
		w.Raw(",allocated|->")
		w.Bool(isAllocated(b))
		w.field(",eventCount", w.eventCount(b))
		if w.state.Rules.Ties != upstream.TiesByAddress {
			w.field(",made", w.places[i].segment.Made+b.Made) // one of them is 0
		}
		w.Raw(",mapped|->")
		w.Bool(!b.Unmapped)
		w.field(",requested", requested)
		w.field(",size", int(b.Size))
		w.Raw(",uses|->")
		w.Set(len(b.StreamUses), func(i int) { w.Int(int(b.StreamUses[i].Stream)) })
		w.Raw("]")
	})
}

func (w *writer) eventCount(b *model.Block) (count int) {
	for _, e := range w.state.Events {
		if e.Block == b.Address {
			count++
		}
	}
	return count
}

func (w *writer) cached() {
	free := w.placesOf((*model.Block).IsFree)
	w.Set(len(free), func(i int) { w.Int(toUnits(free[i].block.Address)) })
}

func (w *writer) memory(r spec.Range) {
	w.field("[addr", toUnits(r.Ptr))
	w.field(",size", int(r.Bytes))
	w.Raw("]")
}

func (w *writer) segments() {
	w.Set(len(w.state.Segments), func(i int) {
		g := &w.state.Segments[i]
		w.field("[addr", toUnits(g.Address))
		if g.PoolKind == spec.LargePool {
			w.Raw(`,kind|->"large"`)
		} else {
			w.Raw(`,kind|->"small"`)
		}
		w.field(",pool", poolNumber(g.Pool))
		w.field(",size", int(g.Size))
		w.field(",stream", int(g.Stream))
		w.Raw("]")
	})
}

func (w *writer) stats() {
	sum := func(places []place) (bytes int) {
		for _, p := range places {
			bytes += int(p.block.Size)
		}
		return bytes
	}
	var split []place
	for _, p := range w.placesOf(isInactive) {
		if p.block.Size < p.segment.Size && !p.segment.Expandable {
			split = append(split, p)
		}
	}
	w.field("[active", sum(w.placesOf(func(b *model.Block) bool { return !isInactive(b) })))
	w.field(",allocated", sum(w.placesOf(isAllocated)))
	w.field(",inactiveSplit", sum(split))
	w.field(",reserved", sum(w.placesOf(isMapped)))
	w.Raw("]")
}

func (w *writer) events(stream spec.Stream) {
	completed := w.state.StreamOf(onDevice(stream)).Completed
	var queue []model.Event
	for _, e := range w.state.Events {
		if e.Stream == onDevice(stream) {
			queue = append(queue, e)
		}
	}
	w.Sequence(len(queue), func(i int) {
		w.field("[behind", max(0, queue[i].After-completed))
		w.field(",block", toUnits(queue[i].Block))
		w.Raw("]")
	})
}

func (w *writer) work(stream spec.Stream) {
	work := w.state.StreamOf(onDevice(stream)).Work
	w.Sequence(len(work), func(i int) { w.memory(work[i]) })
}
