package unbounded

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// A world has the things of a step of the model: those of its first state and of its last.
// Two allocations at one address are two things.
type world struct {
	streams     []spec.Stream
	units       int
	allocations []allocationKey
	pieces      []pieceKey
	events      []eventKey
	owner       map[allocationKey]spec.Stream
	isNew       func(spec.Ptr) bool // the allocation there, in the last state, is a new one
}

type allocationKey struct {
	at    spec.Ptr
	isNew bool
}

// pieceKey is the nth piece of work that was launched in a stream.
type pieceKey struct {
	stream spec.Stream
	nth    int
}

type eventKey struct {
	stream spec.Stream
	block  spec.Ptr
	after  int
}

func newWorld(streams []spec.Stream, from, to *model.State, isNew func(spec.Ptr) bool) *world {
	w := &world{streams: streams, owner: map[allocationKey]spec.Stream{}, isNew: isNew}
	for i, s := range []*model.State{from, to} {
		isLast := i == 1
		for _, g := range s.Segments {
			w.units = max(w.units, unitOf(g.Address)+int(g.Size))
			for _, b := range g.Blocks {
				if b.State == spec.ActiveAllocated || b.IsDeferred() {
					key := allocationKey{b.Address, isLast && isNew(b.Address)}
					w.allocations, w.owner[key] = addKey(w.allocations, key), g.Stream
				}
			}
		}
		for _, g := range s.Truth.Granted {
			w.units = max(w.units, unitOf(g.Memory.Ptr)+int(g.Memory.Bytes))
		}
		for _, e := range s.Events {
			w.events = addKey(w.events, eventKey{e.Stream.Stream, e.Block, e.After})
		}
	}
	for _, stream := range streams {
		before, after := streamOf(from, stream), streamOf(to, stream)
		end := max(launched(before), launched(after))
		for nth := before.Completed; nth <= end; nth++ { // one that is not launched
			w.pieces = append(w.pieces, pieceKey{stream, nth})
		}
		w.events = addKey(w.events, eventKey{stream: stream}) // one that is never recorded
		for _, a := range w.allocations {
			w.events = addKey(w.events, eventKey{stream, a.at, launched(after)})
		}
	}
	return w
}

func addKey[K comparable](list []K, key K) []K {
	if slices.Contains(list, key) {
		return list
	}
	return append(list, key)
}

func unitOf(p spec.Ptr) int { return int(p - bounded.AddressBase) }

func streamOf(s *model.State, stream spec.Stream) model.Stream {
	return s.StreamOf(spec.DeviceStream{Stream: stream})
}

func launched(x model.Stream) int { return x.Completed + len(x.Work) }

func (w *world) streamIndex(s spec.Stream) int { return slices.Index(w.streams, s) }

// structureOf is a state of the model as relations.
func (w *world) structureOf(s *model.State, isLast bool) *structure {
	m := &structure{
		size: map[sort]int{
			unit: w.units, stream: len(w.streams), allocation: len(w.allocations), piece: len(w.pieces), event: len(w.events),
		},
		values: map[string][]int{}, kinds: map[string]function{},
	}
	for _, f := range slices.Concat(rigid, state) {
		m.add(f)
	}
	for i, a := range w.allocations {
		m.set("streamOf", w.streamIndex(w.owner[a]), i)
	}
	for i, p := range w.pieces {
		m.set("worksIn", w.streamIndex(p.stream), i)
	}
	for i, e := range w.events {
		m.set("recordedIn", w.streamIndex(e.stream), i)
	}
	w.setBlocks(m, s, isLast)
	w.setTruth(m, s, isLast)
	w.setQueues(m, s)
	return m
}

func (m *structure) setRange(name string, at spec.Ptr, bytes uint64, other int) {
	for u := range int(bytes) {
		m.set(name, 1, unitOf(at)+u, other)
	}
}

func (w *world) allocationAt(p spec.Ptr, isLast bool) int {
	return slices.Index(w.allocations, allocationKey{p, isLast && w.isNew(p)})
}

// setBlocks sets what the allocator knows of blocks.
func (w *world) setBlocks(m *structure, s *model.State, isLast bool) {
	for _, g := range s.Segments {
		for _, b := range g.Blocks {
			if b.Unmapped {
				continue
			}
			m.setRange("segment", b.Address, b.Size, w.streamIndex(g.Stream))
			a := w.allocationAt(b.Address, isLast)
			switch {
			case b.State == spec.ActiveAllocated:
				m.setRange("allocated", b.Address, b.Size, a)
			case b.IsDeferred():
				m.setRange("deferred", b.Address, b.Size, a)
			default:
				continue
			}
			for _, id := range b.StreamUses {
				m.set("uses", 1, a, w.streamIndex(id.Stream))
			}
		}
	}
	for _, u := range s.GraphStreamUses {
		m.set("captureUses", 1, w.allocationAt(u.Block, isLast), w.streamIndex(u.Stream.Stream))
	}
}

func (w *world) setTruth(m *structure, s *model.State, isLast bool) {
	for _, g := range s.Truth.Granted {
		m.setRange("granted", g.Memory.Ptr, g.Memory.Bytes, w.streamIndex(g.Stream))
	}
	for _, h := range s.Truth.Held {
		m.setRange("held", h.Ptr, s.MemoryOf(h).Bytes, w.allocationAt(h.Ptr, isLast))
	}
	for _, x := range s.Truth.Touches {
		name := "touched"
		if x.Captured {
			name = "captured"
		}
		m.set(name, 1, w.allocationAt(x.Ptr, isLast), w.streamIndex(x.Stream.Stream))
	}
}

// setQueues sets the pending work and the outstanding events.
func (w *world) setQueues(m *structure, s *model.State) {
	for i, p := range w.pieces {
		x := streamOf(s, p.stream)
		if at := p.nth - x.Completed; at >= 0 && at < len(x.Work) {
			m.set("pending", 1, i)
			for u := range int(x.Work[at].Bytes) {
				m.set("works", 1, i, unitOf(x.Work[at].Ptr)+u)
			}
		}
	}
	for _, e := range s.Events {
		i := slices.Index(w.events, eventKey{e.Stream.Stream, e.Block, e.After})
		m.set("outstanding", 1, i)
		for _, g := range s.Segments {
			for _, b := range g.Blocks {
				for u := range int(b.Size) {
					if b.Address == e.Block {
						m.set("covers", 1, i, unitOf(b.Address)+u)
					}
				}
			}
		}
		for j, p := range w.pieces {
			if p.stream == e.Stream.Stream && p.nth < e.After {
				m.set("behind", 1, i, j)
			}
		}
	}
}
