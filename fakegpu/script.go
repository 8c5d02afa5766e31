package fakegpu

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// A Script gives one device the addresses of a recorded run, so that a replay of
// the run meets the same addresses. It is an AddressPolicy: see GPU.UseScript.
//
// A script gives addresses only. Whether a request succeeds comes from capacity,
// limits and faults, as without a script; LoadOutcomes is the one exception. When a
// request succeeds for which the script has no address, it gets a fresh one from
// a region that no recording of a real device has addresses in, so that it shows in
// every trace entry and result that has the address.
//
// Before each operation a replayer says what the recorded run asked of the driver
// in it, in the words of the allocator's trace entries:
//
//	script.Load(op.Expect.Entries)         // addresses
//	script.LoadOutcomes(op.Expect.Entries) // addresses and outcomes
//
// after which it may add what the entries do not tell (SetPieces, SetRanges, SetPool).
// Or it pushes addresses one by one, for the whole run if it likes. It does so while
// nobody calls the GPU: a script has no lock of its own.
type Script struct {
	pieces     []spec.Range // of coming Mallocs, in order
	ranges     []spec.Range // of coming ReserveAddresses, in order; of no bytes: of any size
	mapped     []spec.Ptr   // where coming mappings begin
	pool       []spec.Range // of coming Mallocs, in an order that is not known
	rangesTold bool         // ranges are all that is reserved
	outcomes   *outcomes    // nil unless the recorded outcomes count

	choose   func(Choice) spec.Ptr
	held     []spec.Range // reserved on the device, by address
	reserved []spec.Range // since the last Load, in order

	real      bool
	fallback  AddressPolicy
	vacant    func(spec.Range) bool // whether nothing of the process lies there
	inReserve func(spec.Ptr) bool   // whether the address lies in a reserved range
}

// A Choice is an address that the script has not been told.
type Choice struct {
	Reserve bool   // of a ReserveAddress; otherwise of a Malloc
	Bytes   uint64 // of the piece or range

	// Candidates are where it may lie. Of a Malloc they are the vacant pieces of this size
	// that SetPool has named, by address. Of a ReserveAddress they are the end of the highest range
	// of the device and the place before the lowest, as far as they are vacant.
	Candidates []spec.Ptr
	// Vacant reports whether nothing lies in the place that begins at an address.
	Vacant func(spec.Ptr) bool
}

// NewScript makes an empty script. The fresh addresses that it gives ascend.
func NewScript() *Script { return &Script{} }

// NewRealLikeScript makes one that gives fresh addresses as the real driver does: see RealLike.
func NewRealLikeScript() *Script { return &Script{real: true} }

// Choose lets a function choose the addresses that the script has not been told: one of
// several candidates for a Malloc, or anywhere for a ReserveAddress. Where the function
// returns 0 or a place that is not vacant, and without a function, the first candidate is
// taken for a Malloc, and a fresh address for a ReserveAddress. The function must not call the GPU.
func (s *Script) Choose(f func(Choice) spec.Ptr) { s.choose = f }

// UseScript lets the script choose the addresses of a device's memory from now
// on. A script serves one device of one process. It panics if the device does not
// exist.
func (g *GPU) UseScript(dev spec.Device, s *Script) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s.fallback = newAscending(fallbackWindow + uint64(dev)*windowBytes)
	if s.real {
		s.fallback = RealLikeWithin(spec.Range{Ptr: fallbackWindow + spec.Ptr(dev)*windowBytes, Bytes: windowBytes})
	}
	s.vacant = g.space.vacant
	s.inReserve = g.space.reserved
	g.devices[dev].addresses = s
	g.devices[dev].script = s
}

// Push adds the address of a coming Malloc of this size.
func (s *Script) Push(addr spec.Ptr, bytes uint64) {
	s.pieces = append(s.pieces, spec.Range{Ptr: addr, Bytes: bytes})
}

// PushRange adds the base of a coming ReserveAddress.
func (s *Script) PushRange(base spec.Ptr) { s.ranges = append(s.ranges, spec.Range{Ptr: base}) }

// Load says which memory the next operation obtained from the driver in the
// recorded run; what was pushed or loaded before and was not used is forgotten,
// except for bases of PushRange. Of the entries only segment_alloc and segment_map
// matter, so an operation's whole list can be given. A segment_map outside every
// range that is reserved when ReserveAddress is called gives the base of the range
// that the call gives, because a new range is mapped from its base on.
func (s *Script) Load(entries []spec.TraceEntry) {
	if s.rangesTold {
		s.ranges, s.rangesTold = s.ranges[:0], false
	}
	s.pieces, s.mapped, s.outcomes = s.pieces[:0], s.mapped[:0], nil
	s.pool, s.reserved = s.pool[:0], s.reserved[:0]
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

// SetPieces says what the operation's Mallocs returned, in order and in place of what the
// entries say of it, until the next Load.
func (s *Script) SetPieces(pieces []spec.Range) { s.pieces = append(s.pieces[:0], pieces...) }

// SetRanges says what the operation's ReserveAddresses returned, in order and in place of what
// the entries say of it, until the next Load.
func (s *Script) SetRanges(ranges []spec.Range) {
	s.ranges, s.mapped, s.rangesTold = append(s.ranges[:0], ranges...), s.mapped[:0], true
}

// SetPool names pieces that the operation's Mallocs may have returned, in an order that is not
// known, until the next Load. A Malloc is given one of its size that is vacant: see Choose.
func (s *Script) SetPool(pieces []spec.Range) {
	s.pool = append(s.pool[:0], pieces...)
	slices.SortFunc(s.pool, func(a, b spec.Range) int { return cmp.Compare(a.Ptr, b.Ptr) })
}

// Place gives the next recorded address, if it is one of a piece of that size and
// nothing lies there.
func (s *Script) Place(bytes uint64) spec.Ptr {
	if len(s.pieces) > 0 && s.pieces[0].Bytes == bytes && s.vacant(s.pieces[0]) {
		ptr := s.pieces[0].Ptr
		s.pieces = s.pieces[1:]
		return ptr
	}
	if ptr := s.placeInPool(bytes); ptr != 0 {
		return ptr
	}
	for {
		ptr := s.fallback.Place(bytes)
		if s.vacant(spec.Range{Ptr: ptr, Bytes: bytes}) {
			return ptr
		}
	}
}

// placeInPool gives the address of a piece of that size of SetPool; 0 if there is none.
func (s *Script) placeInPool(bytes uint64) spec.Ptr {
	if len(s.pool) == 0 {
		return 0
	}
	c := s.choice(bytes)
	for _, piece := range s.pool {
		if piece.Bytes == bytes && s.vacant(piece) {
			c.Candidates = append(c.Candidates, piece.Ptr)
		}
	}
	switch len(c.Candidates) {
	case 0:
		return 0
	case 1:
		return c.Candidates[0]
	}
	return cmp.Or(s.chosen(c), c.Candidates[0])
}

func (s *Script) choice(bytes uint64) Choice {
	return Choice{Bytes: bytes, Vacant: func(ptr spec.Ptr) bool { return s.vacant(spec.Range{Ptr: ptr, Bytes: bytes}) }}
}

// chosen asks the function of Choose; 0 if there is none, or it chose no vacant place.
func (s *Script) chosen(c Choice) spec.Ptr {
	if s.choose == nil {
		return 0
	}
	if ptr := s.choose(c); ptr != 0 && c.Vacant(ptr) {
		return ptr
	}
	return 0
}

// PlaceRange gives the next recorded base, if it is one of that size and nothing lies there.
func (s *Script) PlaceRange(bytes uint64) spec.Ptr {
	r := spec.Range{Ptr: s.nextBase(bytes), Bytes: bytes}
	for r.Ptr == 0 || !s.vacant(r) {
		r.Ptr = s.fallback.PlaceRange(bytes)
	}
	s.reserved = append(s.reserved, r)
	i, _ := slices.BinarySearchFunc(s.held, r.Ptr, func(r spec.Range, p spec.Ptr) int { return cmp.Compare(r.Ptr, p) })
	s.held = slices.Insert(s.held, i, r)
	return r.Ptr
}

// nextBase takes the next base that was pushed, or set for a range of that size, or else the next
// mapping outside all reserved ranges; it is 0 if the recording does not tell, and nothing was
// chosen.
func (s *Script) nextBase(bytes uint64) spec.Ptr {
	if len(s.ranges) > 0 {
		next := s.ranges[0]
		if next.Bytes != 0 && next.Bytes != bytes {
			return 0
		}
		s.ranges = s.ranges[1:]
		return next.Ptr
	}
	for len(s.mapped) > 0 {
		base := s.mapped[0]
		s.mapped = s.mapped[1:]
		if !s.inReserve(base) {
			return base
		}
	}
	if s.rangesTold || s.choose == nil {
		return 0
	}
	c := s.choice(bytes)
	c.Reserve = true
	if n := len(s.held); n > 0 {
		lowest, highest := s.held[0].Ptr, s.held[n-1].End()
		c.Candidates = append(c.Candidates, spec.Ptr(roundUp(uint64(highest), rangeAlignment)))
		if down := roundUp(bytes, rangeAlignment); uint64(lowest) > down {
			c.Candidates = append(c.Candidates, lowest-spec.Ptr(down))
		}
		c.Candidates = slices.DeleteFunc(c.Candidates, func(ptr spec.Ptr) bool { return !c.Vacant(ptr) })
	}
	return s.chosen(c)
}

// Reserved lists what ReserveAddress has given since the last Load, in order. The list is
// the script's, and good until the next Load.
func (s *Script) Reserved() []spec.Range { return s.reserved }

// Vacate implements AddressPolicy.
func (s *Script) Vacate(ptr spec.Ptr, bytes uint64) { s.fallback.Vacate(ptr, bytes) }

// VacateRange implements AddressPolicy.
func (s *Script) VacateRange(ptr spec.Ptr, bytes uint64) {
	s.fallback.VacateRange(ptr, bytes)
	s.held = slices.DeleteFunc(s.held, func(r spec.Range) bool { return r.Ptr == ptr })
}
