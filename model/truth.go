package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// Truth is what the program and the device did, kept apart from what the allocator
// remembers of it. No rule of the allocator reads it, so that an allocator which forgets
// something does not hide its mistake. In a correct allocator it follows from the rest of
// the state, except with private pools: blocks whose free is deferred do not remember the
// order of their frees, and the work of the streams does.
//
// A Truth is a value, as a State is: its methods return the next one. Package bounded records what
// the program does, and the model what the driver does.
type Truth struct {
	// The program.
	Held     []Held        // what malloc returned and was not freed: by address
	Touches  []Touch       // which other streams use it: by address, stream, Captured
	Captures []PoolRouting // and routings without a capture: those begun and not ended, in that order

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

// inserted is a sorted list with another element.
func inserted[T any](list []T, x T, compare func(a, b T) int) []T {
	at, _ := slices.BinarySearchFunc(list, x, compare)
	return slices.Insert(slices.Clone(list), at, x)
}

// without is a list without the elements that satisfy a predicate.
func without[T any](list []T, is func(x T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), is)
}

// Hold is the truth when the program holds memory too.
func (t Truth) Hold(h Held) Truth {
	t.Held = inserted(t.Held, h, Held.compare)
	return t
}

// GiveBack is the truth when the program does not hold the memory at an address any more.
func (t Truth) GiveBack(ptr spec.Ptr) Truth {
	t.Held = without(t.Held, func(h Held) bool { return h.Ptr == ptr })
	t.Touches = without(t.Touches, func(x Touch) bool { return x.Ptr == ptr })
	return t
}

// Touch is the truth when a stream uses memory too: in a graph, if a capture is underway.
func (t Truth) Touch(ptr spec.Ptr, id spec.DeviceStream) Truth {
	return t.TouchIn(ptr, id, t.InCapture())
}

// TouchIn is the truth when a stream uses memory too, in a graph or not.
func (t Truth) TouchIn(ptr spec.Ptr, id spec.DeviceStream, captured bool) Truth {
	x := Touch{Ptr: ptr, Stream: id, Captured: captured}
	if !slices.Contains(t.Touches, x) {
		t.Touches = inserted(t.Touches, x, Touch.Compare)
	}
	return t
}

// BeginCapture is the truth when the program has begun another capture.
func (t Truth) BeginCapture(to PoolRouting) Truth {
	t.Captures = append(slices.Clip(t.Captures), to)
	return t
}

// EndCapture is the truth when the capture into a pool has ended.
func (t Truth) EndCapture(id spec.PoolID) Truth {
	t.Captures = without(t.Captures, func(r PoolRouting) bool { return r.Pool == id })
	return t
}

// Grant is the truth when the driver has granted memory to a malloc for a stream.
func (t Truth) Grant(memory spec.Range, stream spec.Stream) Truth {
	t.Granted = inserted(t.Granted, Grant{memory, stream}, Grant.compare)
	return t
}

// Return is the truth when all grants within a range were returned.
func (t Truth) Return(memory spec.Range) Truth {
	t.Granted = without(t.Granted, func(g Grant) bool {
		return memory.Ptr <= g.Memory.Ptr && g.Memory.Ptr+spec.Ptr(g.Memory.Bytes) <= memory.Ptr+spec.Ptr(memory.Bytes)
	})
	return t
}

// Call is the truth when a driver call was made that a capture may forbid.
func (t Truth) Call(call DriverCall, forbidden bool) Truth {
	if forbidden && !slices.Contains(t.Illegal, call) {
		t.Illegal = inserted(t.Illegal, call, cmp.Compare[DriverCall])
	}
	return t
}

// InCapture reports whether any capture is underway.
func (t Truth) InCapture() bool {
	return slices.ContainsFunc(t.Captures, func(r PoolRouting) bool { return !r.Uncaptured })
}

// IsCaptured is what the driver answers when the allocator asks whether a stream is captured
// (spec.Driver.CaptureStatus).
func (t Truth) IsCaptured(stream spec.Stream) bool {
	return slices.ContainsFunc(t.Captures, func(r PoolRouting) bool { return r.Stream == stream && !r.Uncaptured })
}

// returnMemory returns all grants within a range to the driver.
func (s *State) returnMemory(memory spec.Range) {
	s.Truth = s.Truth.Call(FreeMemory, s.freeForbidden()).Return(memory)
}

// freeForbidden is what the driver answers when the allocator asks whether it may free memory
// (spec.Driver.FreeForbidden).
func (s *State) freeForbidden() bool { return s.Truth.InCapture() && !s.RelaxedCaptures }

// aboutEvents is a driver call about each of some events, which is forbidden in a capture.
func (s *State) aboutEvents(call DriverCall, events int) {
	s.Truth = s.Truth.Call(call, s.Truth.InCapture() && events > 0)
}

func (s *State) isCaptured(stream spec.Stream) bool { return s.Truth.IsCaptured(stream) }

// synchronizeStream waits for a stream, which is forbidden while it is captured.
func (s *State) synchronizeStream(stream spec.Stream) {
	s.Truth = s.Truth.Call(WaitEvent, s.isCaptured(stream))
}

// heldAt is what the program holds at an address.
func (t Truth) heldAt(ptr spec.Ptr) (h Held, is bool) {
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

// LaunchUses launches the last uses of the memory at an address that streams have, other
// than in graphs: the memory is to be freed.
func (s State) LaunchUses(ptr spec.Ptr) State {
	h, is := s.Truth.heldAt(ptr)
	if !is {
		return s
	}
	for _, x := range s.Truth.Touches {
		if x.Ptr == ptr && !x.Captured {
			s = s.Launch(x.Stream, s.MemoryOf(h))
		}
	}
	return s
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

func (t Truth) equal(o Truth) bool {
	return slices.Equal(t.Held, o.Held) && slices.Equal(t.Touches, o.Touches) && slices.Equal(t.Captures, o.Captures) &&
		slices.Equal(t.Granted, o.Granted) && slices.Equal(t.Illegal, o.Illegal)
}

// rename replaces the handles of all streams.
func (t Truth) rename(to func(spec.Stream) spec.Stream) Truth {
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
	return t
}
