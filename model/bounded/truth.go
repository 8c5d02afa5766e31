package bounded

import (
	"cmp"
	"slices"

	"gaugeblock/model"
	"gaugeblock/spec"
)

// The truth of a state (model.Truth) follows from the rest of the state, unless the
// allocator made a mistake or the program records a stream use in a capture and outside of
// it. So a key has only what does not follow.

// truthKey appends the parts of the truth that do not follow from the rest of the state,
// each after its number, and a 0 at the end.
func truthKey(to []byte, s *model.State) []byte {
	t := s.Truth
	if !heldFollows(s) {
		to = append(to, 1, byte(len(t.Held)))
		for _, h := range t.Held {
			to = append(to, byte(toUnits(h.Ptr)), byte(h.Bytes), byte(h.Stream), byte(poolNumber(h.Pool)))
		}
	}
	if !touchesFollow(s) {
		to = append(to, 2, byte(len(t.Touches)))
		for _, x := range t.Touches {
			to = append(to, byte(toUnits(x.Ptr)), byte(x.Stream.Stream), flag(x.Captured))
		}
	}
	if !slices.Equal(t.Captures, s.Routings) {
		to = append(to, 3, byte(len(t.Captures)))
		for _, r := range t.Captures {
			to = append(to, byte(poolNumber(r.Pool)), byte(r.Stream))
		}
	}
	if !grantsFollow(s) {
		to = append(to, 4, byte(len(t.Granted)))
		for _, g := range t.Granted {
			to = append(to, byte(toUnits(g.Memory.Ptr)), byte(g.Memory.Bytes), byte(g.Stream))
		}
	}
	for _, call := range t.Illegal {
		to = append(append(to, 5), call...)
	}
	return append(to, 0)
}

// heldFollows reports whether the program holds the allocated blocks, in their pools.
func heldFollows(s *model.State) bool {
	held := s.Truth.Held
	follows := everyBlock(s, func(g *model.Segment, b *model.Block) bool {
		if !isAllocated(b) {
			return true
		}
		if len(held) == 0 || held[0] != (model.Held{Ptr: b.Address, Bytes: b.RequestedSize, Stream: g.Stream, Pool: g.Pool}) {
			return false
		}
		held = held[1:]
		return true
	})
	return follows && len(held) == 0
}

// touchesFollow reports whether the stream uses of the allocated blocks are those of the
// program, in a capture and outside.
func touchesFollow(s *model.State) bool {
	touches := s.Truth.Touches
	follows := everyBlock(s, func(_ *model.Segment, b *model.Block) bool {
		if !isAllocated(b) {
			return true
		}
		for _, id := range b.StreamUses {
			if len(touches) == 0 || touches[0] != (model.Touch{Ptr: b.Address, Stream: id, Captured: isGraphStreamUse(s, b, id)}) {
				return false
			}
			touches = touches[1:]
		}
		return true
	})
	return follows && len(touches) == 0
}

func isGraphStreamUse(s *model.State, b *model.Block, id spec.DeviceStream) bool {
	return slices.Contains(s.GraphStreamUses, model.GraphStreamUse{Block: b.Address, Stream: id})
}

// grantsFollow reports whether the memory of the driver is that of the segments and of the
// pending mallocs.
func grantsFollow(s *model.State) bool {
	var buffer [16]model.Grant
	grants := buffer[:0]
	for i := range s.Segments {
		grants = appendGrants(grants, &s.Segments[i])
	}
	for i := range s.PendingMallocs {
		if memory := s.PendingMallocs[i].Granted(); memory.Bytes > 0 {
			grants = append(grants, model.Grant{Memory: memory, Stream: s.PendingMallocs[i].Stream})
		}
	}
	if len(s.PendingMallocs) > 0 {
		slices.SortFunc(grants, func(a, b model.Grant) int { return cmp.Compare(a.Memory.Ptr, b.Memory.Ptr) })
	}
	return slices.Equal(grants, s.Truth.Granted)
}

// appendGrants appends the memory of a segment: one range, or the mapped pages.
func appendGrants(to []model.Grant, g *model.Segment) []model.Grant {
	if !g.Expandable {
		return append(to, model.Grant{Memory: spec.Range{Ptr: g.Address, Bytes: g.Size}, Stream: g.Stream})
	}
	block := 0
	for at := g.Address; at < g.Address+spec.Ptr(g.Size); at += spec.Ptr(g.Page) {
		for g.Blocks[block].Address+spec.Ptr(g.Blocks[block].Size) <= at {
			block++
		}
		if !g.Blocks[block].Unmapped { // pages are mapped and unmapped as a whole
			to = append(to, model.Grant{Memory: spec.Range{Ptr: at, Bytes: g.Page}, Stream: g.Stream})
		}
	}
	return to
}

// truth writes the variables of the program and the device.
func (w *writer) truth() {
	t := w.state.Truth
	w.variable("captures", func() { w.routings(t.Captures) })
	w.variable("device", func() { w.Set(len(t.Granted), func(i int) { w.grant(t.Granted[i]) }) })
	w.variable("given", func() {
		w.Set(len(t.Held), func(i int) {
			w.field("[addr", toUnits(t.Held[i].Ptr))
			w.field(",bytes", int(t.Held[i].Bytes))
			w.field(",pool", poolNumber(t.Held[i].Pool))
			w.field(",stream", int(t.Held[i].Stream))
			w.Raw("]")
		})
	})
	w.variable("illegal", func() {
		w.Set(len(t.Illegal), func(i int) { w.Raw(`"` + string(t.Illegal[i]) + `"`) })
	})
	w.variable("touched", func() {
		w.Set(len(t.Touches), func(i int) {
			w.field("[addr", toUnits(t.Touches[i].Ptr))
			w.Raw(",captured|->")
			w.Bool(t.Touches[i].Captured)
			w.field(",stream", int(t.Touches[i].Stream.Stream))
			w.Raw("]")
		})
	})
}

func (w *writer) grant(g model.Grant) {
	w.field("[addr", toUnits(g.Memory.Ptr))
	w.field(",size", int(g.Memory.Bytes))
	w.field(",stream", int(g.Stream))
	w.Raw("]")
}

func (w *writer) routings(list []model.PoolRouting) {
	w.Sequence(len(list), func(i int) {
		w.field("[pool", poolNumber(list[i].Pool))
		w.field(",stream", int(list[i].Stream))
		w.Raw("]")
	})
}
