package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// A State is the allocator of one device between two actions, and what of the
// device decides what it does. All sizes are in bytes.
//
// What is true of every State:
//
//	segments do not overlap, and stand in order of address
//	the blocks of a segment stand in order of address and fill it
//	of two neighbouring blocks that are inactive one is unmapped, and one is not
//	a block is pending exactly while an event is outstanding for it, or its free is put off
//	held from the driver = the segments + what calls have been granted <= memory
type State struct {
	// What never changes.
	Device   spec.Device
	Geometry spec.Geometry
	Memory   uint64 // that the device has

	// What a program sets.
	Config              spec.Config
	Limited             bool   // there is a limit on what is held from the driver
	Limit               uint64 // meaningful when Limited
	FreeMemoryCallbacks bool   // functions that free memory are asked when the cache has nothing

	Segments       []Segment       // by address
	Events         []Event         // outstanding: by stream, oldest first
	Streams        []Stream        // those in which work was ever held up, in order
	PendingMallocs []PendingMalloc // mallocs that have begun and not ended, by ID

	Pools           []Pool           // private ones, by ID
	Routings        []PoolRouting    // the latest last
	GraphStreamUses []GraphStreamUse // by block, then stream

	Checkpoints []Checkpoint // that the program has, by pool

	// Searches counts the searches of the default pool, small and large, while garbage
	// collection is on. The age of a free block is what it has grown by since.
	GetFreeBlocksCallCount [2]uint64

	Counters Counters
}

// A Segment is memory obtained from the driver in one piece.
type Segment struct {
	Address  spec.Ptr
	Size     uint64
	Stream   spec.Stream // that its blocks are given out for
	Pool     spec.PoolID
	PoolKind spec.PoolKind
	Blocks   []Block

	Expandable bool   // Size is that of the range of addresses
	Page       uint64 // of an expandable segment, in bytes
}

// A Block is a part of a segment that is given out, or kept free, as a whole.
type Block struct {
	Address       spec.Ptr
	Size          uint64
	RequestedSize uint64 // what was last asked for
	State         spec.BlockState
	Unmapped      bool                // no memory is behind it; then it is inactive
	StreamUses    []spec.DeviceStream // other streams noted by RecordStream, in order; once it was freed, only while that is put off
	GCCountBase   uint64              // the pool's Searches when it became free; zero unless inactive
}

// An Event is a point in a stream that must be passed before a freed block can be
// given out again.
type Event struct {
	Stream spec.DeviceStream
	After  int      // passed when the stream has passed so many holds
	Block  spec.Ptr // the address of the block
}

// Counts are the figures that the past has left, and no look at the memory can
// tell.
type Counters struct {
	NumAllocRetries, NumOOMs, NumSyncAllStreams, NumDeviceAlloc, NumDeviceFree int64

	// Oversize blocks and segments are counted by the max_split_size in force
	// when they come and when they go.
	OversizeAllocations, OversizeSegments int64

	// MaxSplitSize is what was in force at the start, -1 for unlimited.
	MaxSplitSize int64
}

// New is the state of an allocator that has done nothing yet. memory is what the
// device has.
func New(dev spec.Device, memory uint64, cfg spec.Config, g spec.Geometry) State {
	s := State{Device: dev, Geometry: g, Memory: memory, Config: cfg}
	s.Counters.MaxSplitSize = -1
	if cfg.MaxSplitSize != spec.Unlimited {
		s.Counters.MaxSplitSize = int64(cfg.MaxSplitSize)
	}
	s.setFraction(cfg.PerProcessMemoryFraction)
	return s
}

// copy shares nothing with s that an action changes.
func (s State) copy() State {
	s.Segments = slices.Clone(s.Segments)
	blocks := make([]Block, 0, s.countBlocks()) // of all segments, one behind the other
	for i := range s.Segments {
		begin := len(blocks)
		blocks = append(blocks, s.Segments[i].Blocks...)
		s.Segments[i].Blocks = blocks[begin:len(blocks):len(blocks)]
	}
	for i := range blocks {
		blocks[i].StreamUses = slices.Clone(blocks[i].StreamUses)
	}
	s.Events = slices.Clone(s.Events)
	s.Streams = slices.Clone(s.Streams)
	for i := range s.Streams {
		s.Streams[i].Work = slices.Clone(s.Streams[i].Work)
	}
	s.PendingMallocs = slices.Clone(s.PendingMallocs)
	s.Pools = slices.Clone(s.Pools)
	s.Routings = slices.Clone(s.Routings)
	s.GraphStreamUses = slices.Clone(s.GraphStreamUses)
	s.Checkpoints = slices.Clone(s.Checkpoints) // the checkpoints do not change
	return s
}

func (s *State) countBlocks() (n int) {
	for i := range s.Segments {
		n += len(s.Segments[i].Blocks)
	}
	return n
}

// Equal reports whether no action and no look can tell the two states apart.
func (s State) Equal(o State) bool {
	return s.Device == o.Device && s.Geometry == o.Geometry && s.Memory == o.Memory &&
		s.Config == o.Config && s.Limited == o.Limited && s.Limit == o.Limit && s.FreeMemoryCallbacks == o.FreeMemoryCallbacks &&
		slices.EqualFunc(s.Segments, o.Segments, Segment.equal) &&
		slices.Equal(s.Events, o.Events) && slices.EqualFunc(s.Streams, o.Streams, Stream.equal) && slices.Equal(s.PendingMallocs, o.PendingMallocs) &&
		slices.Equal(s.Pools, o.Pools) && slices.Equal(s.Routings, o.Routings) && slices.Equal(s.GraphStreamUses, o.GraphStreamUses) &&
		slices.EqualFunc(s.Checkpoints, o.Checkpoints, Checkpoint.equal) &&
		s.GetFreeBlocksCallCount == o.GetFreeBlocksCallCount && s.Counters == o.Counters
}

func (g Segment) equal(o Segment) bool {
	return g.Address == o.Address && g.Size == o.Size && g.Stream == o.Stream && g.Pool == o.Pool && g.PoolKind == o.PoolKind &&
		g.Expandable == o.Expandable && g.Page == o.Page &&
		slices.EqualFunc(g.Blocks, o.Blocks, Block.equal)
}

func (b Block) equal(o Block) bool {
	return b.Address == o.Address && b.Size == o.Size && b.RequestedSize == o.RequestedSize &&
		b.State == o.State && b.Unmapped == o.Unmapped && b.GCCountBase == o.GCCountBase && slices.Equal(b.StreamUses, o.StreamUses)
}

// A place says where a block stands: which block of which segment.
type place struct{ segment, block int }

// at is the block at a place.
func (s *State) at(p place) *Block { return &s.Segments[p.segment].Blocks[p.block] }

// find is the place of the first block, by address, that a question is answered
// with yes for.
func (s *State) find(is func(g *Segment, b *Block) bool) (p place, found bool) {
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			if is(g, &g.Blocks[j]) {
				return place{i, j}, true
			}
		}
	}
	return place{}, false
}

// findAllocated is the block that a program has at an address.
func (s *State) findAllocated(p spec.Ptr) (place, bool) {
	return s.find(func(_ *Segment, b *Block) bool { return b.Address == p && b.State == spec.ActiveAllocated })
}

// findFree lists the free blocks of a pool by stream, size and address: its free
// list.
func (s *State) freeList(pool spec.PoolID, kind spec.PoolKind) []place {
	var free []place
	for i, g := range s.Segments {
		for j, b := range g.Blocks {
			if g.Pool == pool && g.PoolKind == kind && b.isFree() {
				free = append(free, place{i, j})
			}
		}
	}
	slices.SortFunc(free, func(p, q place) int {
		return cmp.Or(
			cmp.Compare(s.Segments[p.segment].Stream, s.Segments[q.segment].Stream),
			cmp.Compare(s.at(p).Size, s.at(q).Size),
			cmp.Compare(s.at(p).Address, s.at(q).Address))
	})
	return free
}
