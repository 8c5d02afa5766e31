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

// truth writes or reads what does not follow of the truth, after the rest of the state.
func (k *coder) truth(s *model.State) {
	f := &k.following
	f.Held, f.Touches = appendHeld(f.Held[:0], s), appendTouches(f.Touches[:0], s)
	f.Captures, f.Granted = s.Routings, appendGranted(f.Granted[:0], s)
	t := &s.Truth
	if k.reading {
		*t = *f
	}
	held, touches := !slices.Equal(t.Held, f.Held), !slices.Equal(t.Touches, f.Touches)
	captures, granted := !slices.Equal(t.Captures, f.Captures), !slices.Equal(t.Granted, f.Granted)
	illegal := len(t.Illegal) > 0
	k.flags(&held, &touches, &captures, &granted, &illegal)
	if held {
		list(k, &t.Held, k.held)
	}
	if touches {
		k.touches(&t.Touches)
	}
	if captures {
		list(k, &t.Captures, k.routing)
	}
	if granted {
		list(k, &t.Granted, func(g *model.Grant) {
			k.memory(&g.Memory)
			k.stream(&g.Stream)
		})
	}
	if illegal {
		k.illegal(&t.Illegal)
	}
}

func (k *coder) held(h *model.Held) {
	k.address(&h.Ptr)
	number(k, &h.Bytes)
	k.stream(&h.Stream)
	k.pool(&h.Pool)
}

// touches are those of each stream, by address; of the same address those outside of a
// capture come first.
func (k *coder) touches(all *[]model.Touch) {
	if k.reading {
		list(k, all, k.touch)
		slices.SortFunc(*all, model.Touch.Compare)
		return
	}
	k.byte(byte(len(*all)))
	for _, old := range k.names.streams.by {
		for _, x := range *all {
			if x.Stream.Stream == spec.Stream(old) {
				k.touch(&x)
			}
		}
	}
}

func (k *coder) touch(x *model.Touch) {
	k.address(&x.Ptr)
	k.stream(&x.Stream.Stream)
	k.flags(&x.Captured)
}

// driverCalls are all kinds of driver calls, in order.
var driverCalls = [...]model.DriverCall{model.FreeMemory, model.QueryEvent, model.RecordEvent, model.WaitEvent}

// illegal is a list of the numbers of the calls.
func (k *coder) illegal(calls *[]model.DriverCall) {
	list(k, calls, func(call *model.DriverCall) {
		kind := slices.Index(driverCalls[:], *call) // -1, which does not fit, for any other
		if number(k, &kind); k.reading {
			*call = driverCalls[kind]
		}
	})
}

// appendHeld appends what the program holds if nobody made a mistake: the allocated blocks,
// in their pools.
func appendHeld(to []model.Held, s *model.State) []model.Held {
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			if b := &g.Blocks[j]; isAllocated(b) {
				to = append(to, model.Held{Ptr: b.Address, Bytes: b.RequestedSize, Stream: g.Stream, Pool: g.Pool})
			}
		}
	}
	return to
}

// appendTouches appends the stream uses of the allocated blocks, in a capture and outside.
func appendTouches(to []model.Touch, s *model.State) []model.Touch {
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			b := &s.Segments[i].Blocks[j]
			if !isAllocated(b) {
				continue
			}
			for _, id := range b.StreamUses {
				to = append(to, model.Touch{Ptr: b.Address, Stream: id, Captured: isGraphStreamUse(s, b, id)})
			}
		}
	}
	return to
}

// appendGranted appends the memory of the segments and of the pending mallocs.
func appendGranted(to []model.Grant, s *model.State) []model.Grant {
	for i := range s.Segments {
		to = appendGrants(to, &s.Segments[i])
	}
	for i := range s.PendingMallocs {
		if memory := s.PendingMallocs[i].Granted(); memory.Bytes > 0 {
			to = append(to, model.Grant{Memory: memory, Stream: s.PendingMallocs[i].Stream})
		}
	}
	if len(s.PendingMallocs) > 0 {
		slices.SortFunc(to, func(a, b model.Grant) int { return cmp.Compare(a.Memory.Ptr, b.Memory.Ptr) })
	}
	return to
}

func isGraphStreamUse(s *model.State, b *model.Block, id spec.DeviceStream) bool {
	return slices.Contains(s.GraphStreamUses, model.GraphStreamUse{Block: b.Address, Stream: id})
}

// appendGrants appends the memory of a segment: one range, or the mapped pages.
func appendGrants(to []model.Grant, g *model.Segment) []model.Grant {
	if !g.Expandable {
		return append(to, model.Grant{Memory: spec.Range{Ptr: g.Address, Bytes: g.Size}, Stream: g.Stream})
	}
	at := g.Address
	for _, b := range g.Blocks {
		for ; at < b.Address+spec.Ptr(b.Size); at += spec.Ptr(g.Page) {
			if !b.Unmapped { // pages are mapped and unmapped as a whole
				to = append(to, model.Grant{Memory: spec.Range{Ptr: at, Bytes: g.Page}, Stream: g.Stream})
			}
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
