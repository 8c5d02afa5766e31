package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// maxStateItems is how many ranges and blocks together are kept for the states at all entries.
const maxStateItems = 9000

// States have the state of the allocator at any entry: from which entry on up to which other one
// memory was reserved, and blocks were active.
type States struct {
	First  int           `json:"first"`  // the first entry whose state can be shown; the number of entries: none
	Ranges []StateRange  `json:"ranges"` // reserved memory
	Blocks []StateBlock  `json:"blocks"` // active blocks
	Kinds  []SegmentKind `json:"kinds"`
}

// StateRange is [begin, end, address, bytes, kind]. It is reserved after the entry begin (-1: before
// the history), and not any more after the entry end (the number of entries: until the end). The
// kind is an index into States.Kinds.
type StateRange [5]int64

// StateBlock is [begin, end, address, bytes, requested, stack, freed]: begin and end as those of a
// StateRange, and its free was requested at the entry freed. The stack is an index into Data.Stacks.
type StateBlock [7]int64

// The indexes into a StateRange or StateBlock.
const (
	stateBegin = iota
	stateEnd
	stateAddress
	stateBytes
	stateKind // of a block the requested bytes
	stateStack
	stateFreed
)

// SegmentKind is what segments have in common.
type SegmentKind struct {
	Large      bool   `json:"large"`
	Expandable bool   `json:"expandable"`
	Pool       string `json:"pool"`   // "" for the default pool
	Stream     string `json:"stream"` // "" for the default stream
}

// stateRecorder writes down the states while entries are added to an allocatorState. Of the blocks that
// are not active any more it keeps the last ones: a history may have millions.
type stateRecorder struct {
	now, end int64
	kept     int // how many of these
	Ranges   []StateRange
	ranges   map[spec.Ptr]int // indexes of those that are reserved now
	active   map[spec.Ptr]*recordedBlock
	ended    []*recordedBlock // in order of their end
	first    int64            // entries whose state is known begin here
	kinds    map[SegmentKind]int
	Kinds    []SegmentKind
	made     int
}

// recordedBlock is a StateBlock that has no stack yet.
type recordedBlock struct {
	StateBlock
	frames snapshot.Frames
	number int // in order of their begin
}

// recordStates begins with the state at the start of a history.
func recordStates(s *allocatorState, entries, most int) *stateRecorder {
	r := &stateRecorder{Kinds: []SegmentKind{}, now: -1, end: int64(entries), kept: most, first: -1,
		ranges: map[spec.Ptr]int{}, active: map[spec.Ptr]*recordedBlock{}, kinds: map[SegmentKind]int{}}
	s.reserved.Scan(func(at spec.Ptr, reserved reservedRange) bool { r.reserve(at, reserved); return true })
	s.active.Scan(func(at spec.Ptr, b activeBlock) bool { r.allocate(at, b); return true })
	s.recorder = r
	return r
}

func (r *stateRecorder) reserve(at spec.Ptr, reserved reservedRange) {
	if r == nil {
		return
	}
	r.unreserve(at)
	kind := kindOf(reserved.kind, reserved.expandable, reserved.pool, reserved.stream)
	k, known := r.kinds[kind]
	if !known {
		k = len(r.Kinds)
		r.kinds[kind], r.Kinds = k, append(r.Kinds, kind)
	}
	r.ranges[at] = len(r.Ranges)
	r.Ranges = append(r.Ranges, StateRange{r.now, r.end, int64(at), int64(reserved.bytes), int64(k)})
}

func (r *stateRecorder) unreserve(at spec.Ptr) {
	if r == nil {
		return
	}
	if i, reserved := r.ranges[at]; reserved {
		r.Ranges[i][stateEnd] = r.now
		delete(r.ranges, at)
	}
}

func (r *stateRecorder) allocate(at spec.Ptr, b activeBlock) {
	if r == nil {
		return
	}
	r.complete(at)
	freed := r.end
	if b.pendingFree {
		freed = r.now
	}
	r.active[at] = &recordedBlock{StateBlock{r.now, r.end, int64(at), int64(b.size), int64(b.requested), noStack, freed}, b.context.Frames, r.made}
	r.made++
}

// free is that the free of a block is requested.
func (r *stateRecorder) free(at spec.Ptr) {
	if r == nil {
		return
	}
	r.active[at].StateBlock[stateFreed] = r.now
}

// complete is that a block is not active any more.
func (r *stateRecorder) complete(at spec.Ptr) {
	if r == nil {
		return
	}
	b, active := r.active[at]
	if !active {
		return
	}
	b.StateBlock[stateEnd] = r.now
	delete(r.active, at)
	if r.ended = append(r.ended, b); len(r.ended) > 2*r.kept {
		forgotten := len(r.ended) - r.kept
		r.first = r.ended[forgotten-1].StateBlock[stateEnd]
		r.ended = append([]*recordedBlock{}, r.ended[forgotten:]...)
	}
}

// kindOf is the kind of segments in words.
func kindOf(kind spec.PoolKind, expandable bool, pool spec.PoolID, stream spec.Stream) SegmentKind {
	k := SegmentKind{Large: kind == spec.LargePool, Expandable: expandable}
	if !pool.IsDefault() {
		k.Pool = fmt.Sprintf("%d, %d", pool.Capture, pool.User)
	}
	if stream != 0 {
		k.Stream = stream.String()
	}
	return k
}

// states are the recorded states. If there are too many items those at the end are kept: a page is
// small for every snapshot.
func (b *builder) states(r *stateRecorder) States {
	blocks := slices.Concat(r.ended, slices.Collect(maps.Values(r.active)))
	slices.SortFunc(blocks, func(x, y *recordedBlock) int { return cmp.Compare(x.number, y.number) })
	var ends []int64
	for i := range r.Ranges {
		ends = append(ends, r.Ranges[i][stateEnd])
	}
	for _, known := range blocks {
		ends = append(ends, known.StateBlock[stateEnd])
	}
	first := r.first
	if slices.Sort(ends); len(ends) > b.limits.states {
		first = max(first, ends[len(ends)-b.limits.states-1])
	}
	s := States{First: int(max(first, 0)), Ranges: []StateRange{}, Blocks: []StateBlock{}, Kinds: r.Kinds}
	for _, known := range r.Ranges {
		if known[stateEnd] > max(first, known[stateBegin]) {
			s.Ranges = append(s.Ranges, known)
		}
	}
	for _, known := range blocks {
		if known.StateBlock[stateEnd] > first {
			known.StateBlock[stateStack] = int64(b.data.Stacks.add(known.frames))
			s.Blocks = append(s.Blocks, known.StateBlock)
		}
	}
	return s
}
