package model

import (
	"cmp"
	"slices"

	"gaugeblock/model/slab"
	"gaugeblock/spec"
)

// Truth is what the program and the device did, kept apart from what the allocator
// remembers of it. No rule of the allocator reads it, so that an allocator which forgets
// something does not hide its mistake. In a correct allocator it follows from the rest of
// the state, except with private pools: blocks whose free is deferred do not remember the
// order of their frees, and the work of the streams does.
//
// A Truth does not change: every change makes another one.
type Truth struct {
	// The program.
	Held     []Held        // what malloc returned and was not freed: by address
	Touches  []Touch       // which other streams use it: by address, stream, Captured
	Captures []PoolRouting // those begun and not ended, in that order

	// The device.
	Granted []Grant // memory that is allocated from the driver: by address
	Illegal []DriverCall
}

// Held is memory that a malloc returned.
type Held struct {
	Ptr    spec.Ptr
	Bytes  uint64      // requested
	Stream spec.Stream // of the request
	Pool   spec.PoolID // that the request was routed to
}

// A Touch is a use of held memory by another stream than the request's. Captured work is
// in a graph, and does not run.
type Touch struct {
	Ptr      spec.Ptr
	Stream   spec.DeviceStream
	Captured bool
}

// A Grant is memory that the driver granted in one piece: a plain segment, or a page. The
// stream whose malloc obtained it may have work on all of it, at any time.
type Grant struct {
	Memory spec.Range
	Stream spec.Stream
}

// A DriverCall is a kind of driver call that a capture may forbid.
type DriverCall string

// To record an event, to query one or to wait for one is forbidden in every capture: the
// event may be in a stream whose work goes into a graph, and then never completes.
const (
	RecordEvent DriverCall = "record"
	QueryEvent  DriverCall = "query"
	WaitEvent   DriverCall = "wait"
	FreeMemory  DriverCall = "free" // or unmap it; allowed in a relaxed capture
)

// record changes the truth, if it is recorded. change must not change slices in place.
func (s *State) record(change func(t *Truth)) {
	if s.Truth != nil {
		s.Truth = s.memory().NewTruth(*s.Truth)
		change(s.Truth)
	}
}

// inserted is a sorted list with another element.
func inserted[T any](memory *slab.Slab[T], list []T, x T, compare func(a, b T) int) []T {
	at, _ := slices.BinarySearchFunc(list, x, compare)
	return slices.Insert(memory.Clone(list), at, x)
}

// without is a list without the elements that satisfy a predicate.
func without[T any](memory *slab.Slab[T], list []T, is func(x T) bool) []T {
	rest := memory.Take(len(list))[:0]
	for _, x := range list {
		if !is(x) {
			rest = append(rest, x)
		}
	}
	return rest
}

// Hold records that the program holds memory.
func (s *State) Hold(h Held) {
	s.record(func(t *Truth) { t.Held = inserted(&s.memory().Held, t.Held, h, Held.compare) })
}

// GiveBack records that the program does not hold the memory at an address any more.
func (s *State) GiveBack(ptr spec.Ptr) {
	s.record(func(t *Truth) {
		t.Held = without(&s.memory().Held, t.Held, func(h Held) bool { return h.Ptr == ptr })
		t.Touches = without(&s.memory().Touches, t.Touches, func(x Touch) bool { return x.Ptr == ptr })
	})
}

// AddTouch records that a stream uses memory: in a graph, if a capture is underway.
func (s *State) AddTouch(ptr spec.Ptr, id spec.DeviceStream) {
	s.record(func(t *Truth) {
		x := Touch{Ptr: ptr, Stream: id, Captured: len(t.Captures) > 0}
		if !slices.Contains(t.Touches, x) {
			t.Touches = inserted(&s.memory().Touches, t.Touches, x, Touch.Compare)
		}
	})
}

// BeginCapture and EndCapture record the program's captures.
func (s *State) BeginCapture(to PoolRouting) {
	s.record(func(t *Truth) { t.Captures = append(slices.Clip(t.Captures), to) })
}

// EndCapture ends the capture into a pool.
func (s *State) EndCapture(id spec.PoolID) {
	s.record(func(t *Truth) {
		t.Captures = without(&s.memory().Routings, t.Captures, func(r PoolRouting) bool { return r.Pool == id })
	})
}

// Granted records that the driver granted memory to a malloc for a stream.
func (s *State) Granted(memory spec.Range, stream spec.Stream) {
	s.record(func(t *Truth) {
		t.Granted = inserted(&s.memory().Grants, t.Granted, Grant{memory, stream}, Grant.compare)
	})
}

// Returned records that all grants within a range were returned.
func (s *State) Returned(memory spec.Range) {
	s.CallDriver(FreeMemory, s.freeForbidden())
	s.record(func(t *Truth) {
		t.Granted = without(&s.memory().Grants, t.Granted, func(g Grant) bool {
			return memory.Ptr <= g.Memory.Ptr && g.Memory.Ptr+spec.Ptr(g.Memory.Bytes) <= memory.Ptr+spec.Ptr(memory.Bytes)
		})
	})
}

// freeForbidden is what the driver answers when the allocator asks whether it may free memory
// (spec.Driver.FreeForbidden).
func (s *State) freeForbidden() bool {
	return s.Truth != nil && len(s.Truth.Captures) > 0 && !s.RelaxedCaptures
}

// aboutEvents records a driver call about each of some events, which is forbidden in a
// capture.
func (s *State) aboutEvents(call DriverCall, events int) {
	s.CallDriver(call, s.Truth != nil && len(s.Truth.Captures) > 0 && events > 0)
}

// isCaptured is what the driver answers when the allocator asks whether a stream is captured
// (spec.Driver.CaptureStatus).
func (s *State) isCaptured(stream spec.Stream) bool {
	return s.Truth != nil && slices.ContainsFunc(s.Truth.Captures, func(r PoolRouting) bool { return r.Stream == stream })
}

// synchronizeStream records that a stream is synchronized, which is forbidden while it is
// captured.
func (s *State) synchronizeStream(stream spec.Stream) { s.CallDriver(WaitEvent, s.isCaptured(stream)) }

// CallDriver records a driver call, if it is forbidden.
func (s *State) CallDriver(call DriverCall, forbidden bool) {
	if forbidden && !slices.Contains(s.Truth.Illegal, call) {
		s.record(func(t *Truth) {
			t.Illegal = inserted(&s.memory().DriverCalls, t.Illegal, call, cmp.Compare[DriverCall])
		})
	}
}

// heldAt is what the program holds at an address.
func (t *Truth) heldAt(ptr spec.Ptr) (h Held, is bool) {
	for _, h := range t.Held {
		if h.Ptr == ptr {
			return h, true
		}
	}
	return Held{}, false
}

// MemoryOf is the memory that the program may use of what it holds.
func (s *State) MemoryOf(h Held) spec.Range {
	return spec.Range{Ptr: h.Ptr, Bytes: s.Round(h.Bytes)}
}

// AppendUses makes the last uses of the memory at an address pending that streams have, other
// than in graphs: the memory is to be freed.
func (s *State) AppendUses(ptr spec.Ptr) {
	h, is := s.Truth.heldAt(ptr)
	if !is {
		return
	}
	for _, x := range s.Truth.Touches {
		if x.Ptr == ptr && !x.Captured {
			s.launch(x.Stream, s.MemoryOf(h))
		}
	}
}

func (h Held) compare(o Held) int {
	return cmp.Or(cmp.Compare(h.Ptr, o.Ptr), cmp.Compare(h.Bytes, o.Bytes), cmp.Compare(h.Stream, o.Stream), comparePools(h.Pool, o.Pool))
}

// Compare orders touches by address, stream, and then captured ones after others.
func (x Touch) Compare(o Touch) int {
	captured := 0
	if x.Captured != o.Captured {
		captured = 1
		if o.Captured {
			captured = -1
		}
	}
	return cmp.Or(cmp.Compare(x.Ptr, o.Ptr), compareStreams(x.Stream, o.Stream), captured)
}

func (g Grant) compare(o Grant) int {
	return cmp.Or(cmp.Compare(g.Memory.Ptr, o.Memory.Ptr), cmp.Compare(g.Memory.Bytes, o.Memory.Bytes), cmp.Compare(g.Stream, o.Stream))
}

func (t *Truth) equal(o *Truth) bool {
	if t == nil || o == nil {
		return t == o
	}
	return slices.Equal(t.Held, o.Held) && slices.Equal(t.Touches, o.Touches) && slices.Equal(t.Captures, o.Captures) &&
		slices.Equal(t.Granted, o.Granted) && slices.Equal(t.Illegal, o.Illegal)
}

// renameTruth replaces the handles of all streams.
func (s *State) renameTruth(to func(spec.Stream) spec.Stream) {
	s.record(func(t *Truth) {
		t.Held, t.Touches, t.Captures, t.Granted = slices.Clone(t.Held), slices.Clone(t.Touches), slices.Clone(t.Captures), slices.Clone(t.Granted)
		for i := range t.Held {
			t.Held[i].Stream = to(t.Held[i].Stream)
		}
		for i := range t.Touches {
			t.Touches[i].Stream.Stream = to(t.Touches[i].Stream.Stream)
		}
		for i := range t.Captures {
			t.Captures[i].Stream = to(t.Captures[i].Stream)
		}
		for i := range t.Granted {
			t.Granted[i].Stream = to(t.Granted[i].Stream)
		}
		slices.SortFunc(t.Touches, Touch.Compare)
	})
}
