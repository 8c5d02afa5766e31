package fakegpu

import "gaugeblock/spec"

// A Script gives one device the addresses of a recorded run, so that a replay of
// the run meets the same addresses. It is an AddressPolicy: see GPU.UseScript.
//
// A script gives addresses only. Whether a request succeeds comes from capacity,
// limits and faults, as without a script; LoadOutcomes is the one exception. When a
// request succeeds for which the script has no address, it gets a fresh one from
// a region that no recording has addresses in, so that it shows in every trace entry
// and result that has the address.
//
// Before each operation a replayer says what the recorded run asked of the driver
// in it, in the words of the allocator's trace entries:
//
//	script.Load(op.Expect.Entries)         // addresses
//	script.LoadOutcomes(op.Expect.Entries) // addresses and outcomes
//
// or it pushes addresses one by one, for the whole run if it likes. It does so while
// nobody calls the GPU: a script has no lock of its own.
type Script struct {
	pieces   []spec.Range // of coming Mallocs, in order
	bases    []spec.Ptr   // of coming ReserveAddresses, in order
	mapped   []spec.Ptr   // where coming mappings begin
	outcomes *outcomes    // nil unless the recorded outcomes count

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
	s.fallback = newAscending(fallbackWindow + uint64(dev)*windowBytes)
	s.vacant = g.space.vacant
	s.reserved = g.space.reserved
	g.devices[dev].addresses = s
	g.devices[dev].script = s
}

// Push adds the address of a coming Malloc of so many bytes.
func (s *Script) Push(addr spec.Ptr, bytes uint64) {
	s.pieces = append(s.pieces, spec.Range{Ptr: addr, Bytes: bytes})
}

// PushRange adds the base of a coming ReserveAddress.
func (s *Script) PushRange(base spec.Ptr) { s.bases = append(s.bases, base) }

// Load says which memory the next operation obtained from the driver in the
// recorded run; what was pushed or loaded before and was not used is forgotten,
// except for bases of PushRange. Of the entries only segment_alloc and segment_map
// matter, so an operation's whole list can be given. A segment_map outside every
// range that is reserved when ReserveAddress is called gives the base of the range
// that the call gives, because a new range is mapped from its base on.
func (s *Script) Load(entries []spec.TraceEntry) {
	s.pieces, s.mapped, s.outcomes = s.pieces[:0], s.mapped[:0], nil
	for _, e := range entries {
		switch e.Action {
		case spec.ActionSegmentAlloc:
			s.pieces = append(s.pieces, spec.Range{Ptr: e.Addr, Bytes: e.Size})
		case spec.ActionSegmentMap:
			s.mapped = append(s.mapped, e.Addr)
		}
	}
}

// LoadOutcomes does what Load does, and makes the recorded driver's decisions count
// instead of capacity, until the next Load: a request for memory succeeds exactly
// when it is the next of the recorded entries (a segment_alloc of that size, or a
// page that still fits into a segment_map), and fails as out of memory otherwise.
// While the next entry is a segment_free or segment_unmap, every request fails.
func (s *Script) LoadOutcomes(entries []spec.TraceEntry) {
	s.Load(entries)
	s.outcomes = newOutcomes(entries)
}

// Place gives the next recorded address, if it is one of a piece of that size and
// nothing lies there.
func (s *Script) Place(bytes uint64) spec.Ptr {
	if len(s.pieces) == 0 || s.pieces[0].Bytes != bytes || !s.vacant(s.pieces[0]) {
		return s.fallback.Place(bytes)
	}
	ptr := s.pieces[0].Ptr
	s.pieces = s.pieces[1:]
	return ptr
}

// PlaceRange gives the next recorded base, if nothing lies there.
func (s *Script) PlaceRange(bytes uint64) spec.Ptr {
	base, ok := s.nextBase()
	if !ok || !s.vacant(spec.Range{Ptr: base, Bytes: bytes}) {
		return s.fallback.PlaceRange(bytes)
	}
	return base
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
