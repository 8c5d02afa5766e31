package report

import (
	"cmp"
	"fmt"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// What a picture shows at most, so that a page stays small whatever it is of. A block
// that is smaller than one in mostShades of all memory is less than a pixel or two.
const (
	maxSegments = 4000
	mostBlocks  = 8000
	mostShades  = 10000
	maxKeepers  = 6
)

// Moment is all memory at one place of the history.
type Moment struct {
	Name      string    `json:"name"` // "peak", "oom" or "end"
	Title     string    `json:"title"`
	Entry     int       `json:"entry"` // the last one before it; -1: none
	Micros    int64     `json:"micros"`
	Allocated uint64    `json:"allocated"`
	Reserved  uint64    `json:"reserved"`
	Segments  []Segment `json:"segments"` // by address
	LeftOut   int       `json:"leftOut"`  // segments, the smallest ones
	Merged    bool      `json:"merged"`   // blocks too small to be seen are drawn as one
}

// Segment is memory from the driver in one piece.
type Segment struct {
	Address    string   `json:"address"`
	Size       uint64   `json:"size"`
	Large      bool     `json:"large"` // belongs to a pool for requests above 1 MiB
	Expandable bool     `json:"expandable"`
	Pool       string   `json:"pool"`   // "" for the default pool
	Stream     string   `json:"stream"` // "" for the default stream
	Given      uint64   `json:"given"`
	Waiting    uint64   `json:"waiting"` // freed, and still used by a stream
	Requested  uint64   `json:"requested"`
	Largest    uint64   `json:"largest"` // free piece
	Blocks     []Block  `json:"blocks"`
	Keepers    []Keeper `json:"keepers"` // what keeps it from being returned, the most first
	More       int      `json:"more"`    // keepers that are not listed
}

// Keeper is a place of the program whose blocks keep a segment from being returned.
type Keeper struct {
	Stack  int    `json:"stack"` // of the largest of its blocks
	Blocks int    `json:"blocks"`
	Bytes  uint64 `json:"bytes"`
	Entry  int    `json:"entry"` // that gave out the oldest of them
}

// Block is [size, requested, state, stack, entry, count], or [size] if it is free.
// States are spec.BlockState, stack is an index into Data.Stacks, and entry gave it out.
// A count says how many blocks too small to be seen are drawn as this one.
type Block []int64

// drawnBlock is a block on the way into a Moment.
type drawnBlock struct {
	spec.Block
	entry int
}

// segments are what the picture shows, as a snapshot would have them.
func (p *picture) segments(dev spec.Device) []spec.Segment {
	var segments []spec.Segment
	p.held.Scan(func(at spec.Ptr, h held) bool {
		if last := len(segments) - 1; last >= 0 && h.expandable {
			s := &segments[last]
			if s.Expandable && s.Address+spec.Ptr(s.TotalSize) == at && s.Stream == h.stream && s.PoolKind == h.kind {
				s.TotalSize += h.bytes
				return true
			}
		}
		segments = append(segments, spec.Segment{
			Device: dev, Address: at, TotalSize: h.bytes, Stream: h.stream, Pool: h.pool, PoolKind: h.kind, Expandable: h.expandable,
		})
		return true
	})
	for i := range segments {
		segments[i].Blocks = p.tile(&segments[i])
	}
	return segments
}

// tile covers a segment with blocks.
func (p *picture) tile(s *spec.Segment) []spec.Block {
	var blocks []spec.Block
	at, end := s.Address, s.Address+spec.Ptr(s.TotalSize)
	free := func(to spec.Ptr) {
		if to > at {
			blocks = append(blocks, spec.Block{Address: at, Size: uint64(to - at)})
		}
	}
	p.blocks.Ascend(s.Address, func(start spec.Ptr, b out) bool {
		if start >= end {
			return false
		}
		free(start)
		state := spec.ActiveAllocated
		if b.pending {
			state = spec.ActivePendingFree
		}
		size := min(b.bytes, uint64(end-start))
		blocks = append(blocks, spec.Block{Address: start, Size: size, RequestedSize: b.requested, State: state, Context: b.stack})
		at = start + spec.Ptr(size)
		return true
	})
	free(end)
	return blocks
}

// draw makes a Moment of segments. The picture knows when blocks were given out.
func (b *builder) draw(m Moment, segments []spec.Segment, p *picture) Moment {
	m.Segments = []Segment{}
	segments, m.LeftOut = largest(segments)
	blocks := 0
	for i := range segments {
		m.Reserved += segments[i].TotalSize
		blocks += len(segments[i].Blocks)
	}
	tooSmall := uint64(0)
	if blocks > mostBlocks {
		tooSmall, m.Merged = m.Reserved/mostShades, true
	}
	for i := range segments {
		s := b.segment(&segments[i], p, tooSmall)
		m.Allocated += s.Given
		m.Segments = append(m.Segments, s)
	}
	return m
}

// largest leaves out the smallest segments if there are too many.
func largest(segments []spec.Segment) (kept []spec.Segment, left int) {
	if len(segments) <= maxSegments {
		return segments, 0
	}
	bySize := slices.Clone(segments)
	slices.SortStableFunc(bySize, func(a, b spec.Segment) int { return cmp.Compare(b.TotalSize, a.TotalSize) })
	kept = bySize[:maxSegments]
	slices.SortFunc(kept, func(a, b spec.Segment) int { return cmp.Compare(a.Address, b.Address) })
	return kept, len(segments) - maxSegments
}

func (b *builder) segment(from *spec.Segment, p *picture, tooSmall uint64) Segment {
	s := Segment{
		Address: from.Address.String(), Size: from.TotalSize, Large: from.PoolKind == spec.LargePool, Expandable: from.Expandable,
		Blocks: []Block{}, Keepers: []Keeper{},
	}
	if !from.Pool.IsDefault() {
		s.Pool = fmt.Sprintf("%d, %d", from.Pool.Capture, from.Pool.User)
	}
	if from.Stream != 0 {
		s.Stream = from.Stream.String()
	}
	keepers := map[int]*Keeper{}
	var order []*Keeper
	for _, block := range from.Blocks {
		drawn := drawnBlock{block, -1}
		if known, isOut := p.blocks.Get(block.Address); isOut {
			drawn.entry = known.entry
		}
		s.count(&drawn)
		if block.State != spec.Inactive {
			if k := b.keeper(keepers, &drawn); k != nil {
				order = append(order, k)
			}
		}
		b.drawBlock(&s, &drawn, tooSmall)
	}
	slices.SortStableFunc(order, func(a, b *Keeper) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, k := range order[:min(len(order), maxKeepers)] {
		s.Keepers = append(s.Keepers, *k)
	}
	s.More = len(order) - len(s.Keepers)
	return s
}

func (s *Segment) count(b *drawnBlock) {
	switch b.State {
	case spec.Inactive:
		s.Largest = max(s.Largest, b.Size)
	case spec.ActiveAllocated:
		s.Given += b.Size
		s.Requested += b.RequestedSize
	case spec.ActivePendingFree:
		s.Waiting += b.Size
		s.Requested += b.RequestedSize
	}
}

// keeper counts a block to the place of the program that asked for it. It returns that
// place if it is a new one.
func (b *builder) keeper(keepers map[int]*Keeper, block *drawnBlock) *Keeper {
	stack := b.stackOf(&block.Block)
	place := noStack
	if stack != noStack {
		place = b.data.Stacks.Own[stack]
	}
	k, known := keepers[place]
	if !known {
		k = &Keeper{Stack: stack, Entry: block.entry}
		keepers[place] = k
	}
	k.Blocks++
	k.Bytes += block.Size
	k.Entry = min(k.Entry, block.entry)
	if known {
		return nil
	}
	return k
}

func (b *builder) stackOf(block *spec.Block) int {
	stack, _ := block.Context.(snapshot.Stack)
	return b.data.Stacks.add(stack)
}

// drawBlock appends a block to a segment, or counts it to the one before if both are too
// small to be told apart.
func (b *builder) drawBlock(s *Segment, block *drawnBlock, tooSmall uint64) {
	if block.Size < tooSmall {
		if last := len(s.Blocks) - 1; last >= 0 && len(s.Blocks[last]) == 6 {
			merged := s.Blocks[last]
			merged[0] += int64(block.Size)
			merged[1] += int64(block.RequestedSize)
			merged[2] = max(merged[2], int64(block.State))
			merged[5]++
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
