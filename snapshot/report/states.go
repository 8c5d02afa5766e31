package report

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The limits of the states at all entries: how many ranges and blocks together are kept, how many bytes
// they have at most on a page, and how much larger their call stacks may be than those of the rest of it.
const (
	maxStateItems  = 1 << 20
	maxPackedBytes = 4 << 20
	moreStacks     = 4
)

// States have the state of the allocator at any entry: from which entry on up to which other one
// memory was reserved, and blocks were active.
type States struct {
	First  int           `json:"first"`  // the first entry whose state can be shown; the number of entries: none
	Ranges []StateRange  `json:"ranges"` // reserved memory, in order of the begin
	Blocks []StateBlock  `json:"blocks"` // active blocks, in order of the begin
	Kinds  []SegmentKind `json:"kinds"`
	Stacks stacks        `json:"stacks"` // of the blocks
}

// StateRange is [begin, end, address, bytes, kind]. It is reserved after the entry begin (-1: before
// the history), and not any more after the entry end (the number of entries: until the end). The
// kind is an index into States.Kinds.
type StateRange [5]int64

// StateBlock is [begin, end, address, bytes, requested, stack, freed]: begin and end as those of a
// StateRange, and its free was requested at the entry freed. The stack is an index into States.Stacks.
type StateBlock [7]int64

// The indexes into a StateRange or StateBlock.
const (
	stateBegin = iota
	stateEnd
	stateAddress
	stateBytes
	stateKind
	stateStack
	stateFreed
	stateRequested = stateKind // of a block
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
	first    int64            // entries whose state, and what they end, are known begin here
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
	r := &stateRecorder{Kinds: []SegmentKind{}, now: -1, end: int64(entries), kept: most,
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
	if r.ended = append(r.ended, b); len(r.ended) > r.kept+r.kept/8+1 {
		forgotten := len(r.ended) - r.kept
		r.first = r.ended[forgotten-1].StateBlock[stateEnd] + 1
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
// bounded for every snapshot.
func (b *builder) states(r *stateRecorder) States {
	blocks := slices.Concat(r.ended, slices.Collect(maps.Values(r.active)))
	slices.SortFunc(blocks, func(x, y *recordedBlock) int { return cmp.Compare(x.number, y.number) })
	s := States{First: int(r.first), Ranges: r.Ranges, Kinds: r.Kinds, Stacks: newStacks(b.share)}
	s.Stacks.room *= moreStacks
	for i, known := range blocks {
		known.StateBlock[stateStack] = int64(i)
		s.Blocks = append(s.Blocks, known.StateBlock)
	}
	s = s.last(b.limits.states)
	for i := range s.Blocks {
		stack := &s.Blocks[i][stateStack]
		*stack = int64(s.Stacks.add(blocks[*stack].frames))
	}
	return s
}

// last are the states that have at most so many items, which are all of them, or else those from a
// later entry on.
func (s States) last(most int) States {
	var ends []int64
	for i := range s.Ranges {
		ends = append(ends, s.Ranges[i][stateEnd])
	}
	for i := range s.Blocks {
		ends = append(ends, s.Blocks[i][stateEnd])
	}
	if slices.Sort(ends); len(ends) > most {
		s.First = max(s.First, int(ends[len(ends)-most-1])+1)
	}
	ranges, blocks := []StateRange{}, []StateBlock{}
	for _, r := range s.Ranges {
		if r[stateEnd] >= int64(s.First) && r[stateEnd] > r[stateBegin] {
			ranges = append(ranges, r)
		}
	}
	for _, b := range s.Blocks {
		if b[stateEnd] >= int64(s.First) {
			blocks = append(blocks, b)
		}
	}
	s.Ranges, s.Blocks = ranges, blocks
	return s
}

// packedStates are the states as a page has them, which reads Packed when it is shown: a deflated
// stateColumns in JSON.
type packedStates struct {
	First  int           `json:"first"`
	Kinds  []SegmentKind `json:"kinds"`
	Packed []byte        `json:"packed"`
}

// stateColumns have a list for each index into a StateRange or a StateBlock, which takes far less
// room when it is deflated than a list for each of these. Some are differences, to be small.
type stateColumns struct {
	Ranges [len(StateRange{})][]int64 `json:"ranges"`
	Blocks [len(StateBlock{})][]int64 `json:"blocks"`
	Stacks stacks                     `json:"stacks"`
}

// columns has the begin and the address as the difference to those of the item before, the end of
// an item as how long it lasts, requested bytes as what is not requested of a block, and the
// entry that frees it as how long before the end that is.
func (s *States) columns() stateColumns {
	c := stateColumns{Stacks: s.Stacks}
	for k := range c.Ranges {
		c.Ranges[k] = []int64{}
	}
	for k := range c.Blocks {
		c.Blocks[k] = []int64{}
	}
	var before StateRange
	for _, r := range s.Ranges {
		for k, v := range (StateRange{r[stateBegin] - before[stateBegin], r[stateEnd] - r[stateBegin], r[stateAddress] - before[stateAddress], r[stateBytes], r[stateKind]}) {
			c.Ranges[k] = append(c.Ranges[k], v)
		}
		before = r
	}
	var last StateBlock
	for _, b := range s.Blocks {
		for k, v := range (StateBlock{b[stateBegin] - last[stateBegin], b[stateEnd] - b[stateBegin], b[stateAddress] - last[stateAddress], b[stateBytes], b[stateBytes] - b[stateRequested], b[stateStack], b[stateEnd] - b[stateFreed]}) {
			c.Blocks[k] = append(c.Blocks[k], v)
		}
		last = b
	}
	return c
}

// Pack keeps of a report that shares a page with others only what Write needs, which takes far less memory: WriteJSON
// and WriteCSV have no states and no call sites then, and Compare finds none.
func (d *Data) Pack(share int) {
	packed := d.States.pack(maxPackedBytes / max(1, share))
	d.packed, d.States, d.totals = &packed, States{}, nil
}

// pack packs the states into at most so many bytes: all of them, or else those from a later entry on.
func (s States) pack(most int) packedStates {
	for {
		var packed bytes.Buffer
		deflate, _ := flate.NewWriter(&packed, flate.DefaultCompression) // the level is one that there is
		json.NewEncoder(deflate).Encode(s.columns())                     // never fails, as nothing in it does
		deflate.Close()
		items := len(s.Ranges) + len(s.Blocks)
		if packed.Len() <= most || items == 0 {
			return packedStates{s.First, s.Kinds, packed.Bytes()}
		}
		s = s.last(int(0.95 * float64(items) * float64(most) / float64(packed.Len())))
	}
}
