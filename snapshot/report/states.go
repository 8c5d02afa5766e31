package report

import (
	"fmt"
	"slices"

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

// stateRecorder writes down the states while entries are added to an allocatorState.
type stateRecorder struct {
	States
	now, end int64
	ranges   map[spec.Ptr]int // indexes of those that are reserved now
	blocks   map[spec.Ptr]int // and of those that are active now
	active   []activeBlock    // by index into Blocks
	kinds    map[SegmentKind]int
}

// recordStates begins with the state at the start of a history.
func recordStates(s *allocatorState, entries int) *stateRecorder {
	r := &stateRecorder{States: States{Ranges: []StateRange{}, Blocks: []StateBlock{}, Kinds: []SegmentKind{}}, now: -1, end: int64(entries),
		ranges: map[spec.Ptr]int{}, blocks: map[spec.Ptr]int{}, kinds: map[SegmentKind]int{}}
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
	r.blocks[at] = len(r.Blocks)
	r.active = append(r.active, b)
	freed := r.end
	if b.pendingFree {
		freed = r.now
	}
	r.Blocks = append(r.Blocks, StateBlock{r.now, r.end, int64(at), int64(b.size), int64(b.requested), noStack, freed})
}

// free is that the free of a block is requested.
func (r *stateRecorder) free(at spec.Ptr) {
	if r == nil {
		return
	}
	r.Blocks[r.blocks[at]][stateFreed] = r.now
}

// complete is that a block is not active any more.
func (r *stateRecorder) complete(at spec.Ptr) {
	if r == nil {
		return
	}
	if i, active := r.blocks[at]; active {
		r.Blocks[i][stateEnd] = r.now
		delete(r.blocks, at)
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
	var ends []int64
	for i := range r.Ranges {
		ends = append(ends, r.Ranges[i][stateEnd])
	}
	for i := range r.Blocks {
		ends = append(ends, r.Blocks[i][stateEnd])
	}
	first := int64(-1)
	if slices.Sort(ends); len(ends) > b.limits.states {
		first = ends[len(ends)-b.limits.states-1]
	}
	s := States{First: int(max(first, 0)), Ranges: []StateRange{}, Blocks: []StateBlock{}, Kinds: r.Kinds}
	for _, known := range r.Ranges {
		if known[stateEnd] > max(first, known[stateBegin]) {
			s.Ranges = append(s.Ranges, known)
		}
	}
	for i, known := range r.Blocks {
		if known[stateEnd] > first {
			known[stateStack] = int64(b.data.Stacks.add(r.active[i].context.Frames))
			s.Blocks = append(s.Blocks, known)
		}
	}
	return s
}
