package fakegpu

import (
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// A Script gives one device the addresses of a recorded run, so that a replay of
// the run meets the same addresses. It is an AddressPolicy: see GPU.UseScript.
//
// A script gives addresses only. Whether a request succeeds comes from capacity,
// limits and faults, as without a script; SetGrants is the one exception. When a
// request succeeds for which the script has no address, it gets a fresh one from
// a region that no recording has addresses in, and the script notes the mismatch:
// Mismatch tells the first. A replay checks it after every operation.
//
// Before each operation a replayer says what the recorded run asked of the driver
// in it, in the words of the allocator's diary:
//
//	script.Load(op.Expect.Events)      // addresses
//	script.SetGrants(op.Expect.Events) // addresses and outcomes
//
// or it pushes addresses one by one, for the whole run if it likes.
type Script struct {
	mu       sync.Mutex
	pieces   []spec.Range // of coming Mallocs, in order
	bases    []spec.Ptr   // of coming ReserveAddresses, in order
	mapped   []spec.Ptr   // where coming mappings begin
	grants   *grants      // nil unless the recorded outcomes count
	mismatch string       // the first one

	fallback *ascending
	vacant   func(spec.Range) bool // whether nothing of the process lies there
	reserved func(spec.Ptr) bool   // whether the address lies in a reserved range
}

// NewScript makes an empty script.
func NewScript() *Script { return &Script{} }

// UseScript lets the script choose the addresses of a device's memory from now
// on. A script serves one device of one process. It panics if the device does not
// exist.
func (g *GPU) UseScript(dev spec.Device, s *Script) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fallback = newAscending(fallbackWindow + uint64(dev)*windowBytes)
	s.vacant = g.space.vacant
	s.reserved = g.space.reserved
	g.devices[dev].addresses = s
	g.devices[dev].script = s
}

// Push adds the address of a coming Malloc of so many bytes.
func (s *Script) Push(addr spec.Ptr, bytes uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = append(s.pieces, spec.Range{Ptr: addr, Bytes: bytes})
}

// PushRange adds the base of a coming ReserveAddress.
func (s *Script) PushRange(base spec.Ptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bases = append(s.bases, base)
}

// Load says which memory the next operation obtained from the driver in the
// recorded run; what an earlier Load or SetGrants said and was not used is
// forgotten, and noted as a mismatch if it was a Malloc. Of the events only
// segment_alloc and segment_map matter, so an operation's whole list can be given.
// A segment_map outside every range that is reserved when ReserveAddress is called
// tells the base of the range that the call gives, because a new range is mapped
// from its base on.
func (s *Script) Load(events []spec.TraceEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	for _, e := range events {
		switch e.Action {
		case spec.ActionSegmentAlloc:
			s.pieces = append(s.pieces, spec.Range{Ptr: e.Addr, Bytes: e.Size})
		case spec.ActionSegmentMap:
			s.mapped = append(s.mapped, e.Addr)
		}
	}
}

// SetGrants does what Load does, and makes the recorded driver's decisions count
// instead of capacity, until the next Load: a request for memory is granted
// exactly when it is the next of the recorded events (a segment_alloc of that
// size, or a page that still fits into a segment_map), and refused as out of
// memory otherwise. segment_free and segment_unmap must come in their places too.
func (s *Script) SetGrants(events []spec.TraceEntry) {
	s.Load(events)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = newGrants(events)
}

// Settle forgets what the last Load or SetGrants said and was not used, noting it
// as a mismatch. A replayer calls it after the last operation.
func (s *Script) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
}

func (s *Script) settle() {
	if g := s.grants; g != nil {
		if !g.finished() {
			s.note("the recorded %v did not happen", g.describe())
		}
	} else if len(s.pieces) > 0 {
		s.note("the recorded Malloc of %d bytes at %v did not happen", s.pieces[0].Bytes, s.pieces[0].Ptr)
	}
	s.pieces, s.mapped, s.grants = s.pieces[:0], s.mapped[:0], nil
}

// Mismatch tells the first request that the script had no address for, or the
// first recorded one that did not happen; "" as long as there is none.
func (s *Script) Mismatch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mismatch
}

func (s *Script) note(format string, args ...any) {
	if s.mismatch == "" {
		s.mismatch = fmt.Sprintf(format, args...)
	}
}

// Place gives the next recorded address, if it is one of a piece of that size.
func (s *Script) Place(bytes uint64) spec.Ptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.pieces) == 0:
		s.note("Malloc of %d bytes: nothing more is recorded", bytes)
	case s.pieces[0].Bytes != bytes:
		s.note("Malloc of %d bytes: recorded is one of %d bytes at %v", bytes, s.pieces[0].Bytes, s.pieces[0].Ptr)
	case !s.vacant(s.pieces[0]):
		s.note("Malloc of %d bytes: the recorded address %v is in use", bytes, s.pieces[0].Ptr)
	default:
		ptr := s.pieces[0].Ptr
		s.pieces = s.pieces[1:]
		return ptr
	}
	return s.fallback.Place(bytes)
}

// PlaceRange gives the next recorded base.
func (s *Script) PlaceRange(bytes uint64) spec.Ptr {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, ok := s.nextBase()
	switch {
	case !ok:
		s.note("ReserveAddress of %d bytes: nothing more is recorded", bytes)
	case !s.vacant(spec.Range{Ptr: base, Bytes: bytes}):
		s.note("ReserveAddress of %d bytes: the recorded address %v is in use", bytes, base)
	default:
		return base
	}
	return s.fallback.PlaceRange(bytes)
}

// nextBase takes the next pushed base, or else the next mapping outside all
// reserved ranges.
func (s *Script) nextBase() (spec.Ptr, bool) {
	if len(s.bases) > 0 {
		base := s.bases[0]
		s.bases = s.bases[1:]
		return base, true
	}
	for len(s.mapped) > 0 {
		base := s.mapped[0]
		s.mapped = s.mapped[1:]
		if !s.reserved(base) {
			return base, true
		}
	}
	return 0, false
}

// Vacate does nothing: what is given next is written.
func (s *Script) Vacate(spec.Ptr, uint64) {}

// VacateRange does nothing: what is given next is written.
func (s *Script) VacateRange(spec.Ptr, uint64) {}
