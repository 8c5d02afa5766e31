package report

import (
	"cmp"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The limits of what a layout shows, so that a page is small for every snapshot. A block
// smaller than 1/mergeShare of all memory is drawn with at most two pixels. If several
// reports share the page, the limits are shared as well.
const (
	maxSegments = 4000
	maxBlocks   = 8000
	mergeShare  = 10000
	maxSites    = 6
)

// Layout is the segments and blocks at one place of the history.
type Layout struct {
	Name      string    `json:"name"` // "peak", "oom" or "end"
	Title     string    `json:"title"`
	Entry     int       `json:"entry"` // the last one before it; -1: none
	TimeUS    int64     `json:"timeUS"`
	Allocated uint64    `json:"allocated"` // in all segments
	Reserved  uint64    `json:"reserved"`
	Segments  []Segment `json:"segments"` // by address
	LeftOut   int       `json:"leftOut"`  // segments, the smallest ones
	Merged    bool      `json:"merged"`   // blocks too small to be seen are drawn as one
}

// Segment is a segment, and sums over its blocks.
type Segment struct {
	Address string `json:"address"`
	Size    uint64 `json:"size"`
	SegmentKind
	Allocated        uint64           `json:"allocated"`
	PendingFree      uint64           `json:"pendingFree"` // freed, with stream uses that have not ended
	Requested        uint64           `json:"requested"`
	LargestFreeBlock uint64           `json:"largestFreeBlock"`
	Blocks           []Block          `json:"blocks"`
	Sites            []AllocationSite `json:"sites"`     // of the active blocks, the most bytes first
	MoreSites        int              `json:"moreSites"` // that are not listed
}

// AllocationSite is a frame of the program that allocated active blocks of a segment. While
// there are any, the segment cannot be freed.
type AllocationSite struct {
	Stack  int    `json:"stack"` // of the first of the blocks
	Blocks int    `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
	Entry  int    `json:"entry"` // that allocated the oldest of them
}

// Block is [size, requested, state, stack, entry, count], or [size] if it is inactive. The
// state is a spec.BlockState, stack an index into Data.Stacks, entry the alloc entry. count
// is the number of blocks too small to be seen that are drawn as this one.
type Block []int64

// The indexes into a Block.
const (
	sizeIndex = iota
	requestedIndex
	stateIndex
	_ // stack
	_ // entry
	countIndex
)

// layoutBlock is a block that is added to a layout.
type layoutBlock struct {
	spec.Block
	entry int
}

// segments are the segments of the state, as a snapshot would have them.
func (s *allocatorState) segments(dev spec.Device) []spec.Segment {
	var segments []spec.Segment
	s.reserved.Scan(func(at spec.Ptr, r reservedRange) bool {
		if last := len(segments) - 1; last >= 0 && r.expandable {
			before := &segments[last]
			if before.Expandable && before.Address+spec.Ptr(before.TotalSize) == at && before.Stream == r.stream && before.PoolKind == r.kind {
				before.TotalSize += r.bytes
				return true
			}
		}
		segments = append(segments, spec.Segment{
			Device: dev, Address: at, TotalSize: r.bytes, Stream: r.stream, Pool: r.pool, PoolKind: r.kind, Expandable: r.expandable,
		})
		return true
	})
	for i := range segments {
		segments[i].Blocks = s.blocks(&segments[i])
	}
	return segments
}

// blocks are the blocks of a segment.
func (s *allocatorState) blocks(segment *spec.Segment) []spec.Block {
	var blocks []spec.Block
	at, end := segment.Address, segment.Address+spec.Ptr(segment.TotalSize)
	inactive := func(to spec.Ptr) {
		if to > at {
			blocks = append(blocks, spec.Block{Address: at, Size: uint64(to - at)})
		}
	}
	s.active.Ascend(segment.Address, func(start spec.Ptr, b activeBlock) bool {
		if start >= end {
			return false
		}
		inactive(start)
		state := spec.ActiveAllocated
		if b.pendingFree {
			state = spec.ActivePendingFree
		}
		size := min(b.size, uint64(end-start))
		blocks = append(blocks, spec.Block{Address: start, Size: size, RequestedSize: b.requested, State: state, Context: b.context.Frames})
		at = start + spec.Ptr(size)
		return true
	})
	inactive(end)
	return blocks
}

// layout makes a Layout of segments. The state has the alloc entries of the blocks.
func (b *builder) layout(name, title string, entry int, segments []spec.Segment, state *allocatorState) Layout {
	m := Layout{Name: name, Title: title, Entry: entry, TimeUS: b.timeUS(entry), Segments: []Segment{}}
	blocks := 0
	for i := range segments {
		m.Reserved += segments[i].TotalSize
		m.Allocated += allocatedIn(&segments[i])
		blocks += len(segments[i].Blocks)
	}
	segments, m.LeftOut = largest(segments, b.limits.segments)
	tooSmall := uint64(0)
	if blocks > b.limits.blocks {
		tooSmall, m.Merged = m.Reserved/uint64(b.limits.mergeShare), true
	}
	for i := range segments {
		m.Segments = append(m.Segments, b.segment(&segments[i], state, tooSmall))
	}
	return m
}

// allocatedIn is how many bytes of a segment are allocated.
func allocatedIn(s *spec.Segment) (bytes uint64) {
	for i := range s.Blocks {
		if s.Blocks[i].State == spec.ActiveAllocated {
			bytes += s.Blocks[i].Size
		}
	}
	return bytes
}

// largest leaves out the smallest segments if there are too many.
func largest(segments []spec.Segment, most int) (kept []spec.Segment, leftOut int) {
	if len(segments) <= most {
		return segments, 0
	}
	bySize := slices.Clone(segments)
	slices.SortStableFunc(bySize, func(a, b spec.Segment) int { return cmp.Compare(b.TotalSize, a.TotalSize) })
	kept = bySize[:most]
	slices.SortFunc(kept, func(a, b spec.Segment) int { return cmp.Compare(a.Address, b.Address) })
	return kept, len(segments) - most
}

func (b *builder) segment(from *spec.Segment, state *allocatorState, tooSmall uint64) Segment {
	s := Segment{
		Address: from.Address.String(), Size: from.TotalSize, SegmentKind: kindOf(from.PoolKind, from.Expandable, from.Pool, from.Stream),
		Blocks: []Block{}, Sites: []AllocationSite{},
	}
	byFrame := map[int]int{} // indexes into sites
	var sites []AllocationSite
	for _, block := range from.Blocks {
		added := layoutBlock{block, -1}
		if known, isActive := state.active.Get(block.Address); isActive {
			added.entry = int(known.entry)
		}
		s.count(&added)
		if block.State != spec.Inactive {
			sites = b.countSite(sites, byFrame, &added)
		}
		b.addBlock(&s, &added, tooSmall)
	}
	slices.SortStableFunc(sites, func(a, b AllocationSite) int { return cmp.Compare(b.Bytes, a.Bytes) })
	s.Sites = append(s.Sites, sites[:min(len(sites), maxSites)]...)
	s.MoreSites = len(sites) - len(s.Sites)
	return s
}

func (s *Segment) count(b *layoutBlock) {
	switch b.State {
	case spec.Inactive:
		s.LargestFreeBlock = max(s.LargestFreeBlock, b.Size)
	case spec.ActiveAllocated:
		s.Allocated += b.Size
		s.Requested += b.RequestedSize
	case spec.ActivePendingFree:
		s.PendingFree += b.Size
		s.Requested += b.RequestedSize
	}
}

// countSite counts an active block to its allocation site.
func (b *builder) countSite(sites []AllocationSite, byFrame map[int]int, block *layoutBlock) []AllocationSite {
	stack := b.stackOf(&block.Block)
	frame := noStack
	if stack != noStack {
		frame = b.data.Stacks.Own[stack]
	}
	at, known := byFrame[frame]
	if !known {
		at = len(sites)
		byFrame[frame] = at
		sites = append(sites, AllocationSite{Stack: stack, Entry: block.entry})
	}
	site := &sites[at]
	site.Blocks++
	site.Bytes += block.Size
	site.Entry = min(site.Entry, block.entry)
	return sites
}

func (b *builder) stackOf(block *spec.Block) int {
	frames, _ := block.Context.(snapshot.Frames)
	return b.data.Stacks.add(frames)
}

// addBlock adds a block to a segment, or to the block before if both are too small to be
// told apart.
func (b *builder) addBlock(s *Segment, block *layoutBlock, tooSmall uint64) {
	if block.Size < tooSmall {
		if last := len(s.Blocks) - 1; last >= 0 && len(s.Blocks[last]) > countIndex {
			merged := s.Blocks[last]
			merged[sizeIndex] += int64(block.Size)
			merged[requestedIndex] += int64(block.RequestedSize)
			merged[stateIndex] = max(merged[stateIndex], int64(block.State))
			merged[countIndex]++
			return
		}
		s.Blocks = append(s.Blocks, Block{
			int64(block.Size), int64(block.RequestedSize), int64(block.State), noStack, -1, 1,
		})
		return
	}
	if block.State == spec.Inactive {
		s.Blocks = append(s.Blocks, Block{int64(block.Size)})
		return
	}
	s.Blocks = append(s.Blocks, Block{
		int64(block.Size), int64(block.RequestedSize), int64(block.State), int64(b.stackOf(&block.Block)), int64(block.entry),
	})
}
