package model

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// A State is the allocator of one device between two actions, and the part of the
// device that decides what the allocator does. All sizes are in bytes.
//
// In every State that actions lead to:
//
//	segments do not overlap, and are in order of address
//	the blocks of a segment are in order of address and tile it
//	of two neighbouring inactive blocks one is mapped and one is unmapped
//	a block is pending free exactly while it has an event or its free is deferred
//	mapped bytes of segments + segments granted to pending mallocs <= Memory
type State struct {
	// Constant.
	Device   spec.Device
	Geometry spec.Geometry
	Memory   uint64 // of the device
	Rules    upstream.Rules

	// Set by the program.
	Config              spec.Config
	Limited             bool   // there is a limit on the reserved bytes
	Limit               uint64 // meaningful when Limited
	FreeMemoryCallbacks bool   // callbacks are registered; they run when no cached block fits

	Segments       []Segment       // by address
	Events         []Event         // not complete when last tested: by stream, oldest first
	Streams        []Stream        // those in which work was ever launched, in order
	PendingMallocs []PendingMalloc // mallocs that have begun and not returned, by ID

	Pools           []Pool           // private ones, by ID
	Routings        []PoolRouting    // in the order in which they began
	GraphStreamUses []GraphStreamUse // in a capture: by block, then stream

	Checkpoints []Checkpoint // those that the program can restore, by pool

	// GetFreeBlocksCallCount counts the searches of the default small and large pool
	// while garbage collection is on. The age of a free block is the count minus its
	// GCCountBase.
	GetFreeBlocksCallCount [2]uint64

	Counters Counters

	Marked  int         // captures that were marked as begun, and not as ended
	Current spec.Stream // of the thread that takes the next action; in a malloc, of the request

	Truth           Truth
	RelaxedCaptures bool // captures allow frees; constant
	FreeWaits       bool // the driver frees memory when all work of the device is complete; constant

	logsCalls bool  // Calls wants them
	calls     Calls // of the operation under way
}

// A Segment is a plain segment of one driver allocation, or an expandable segment.
type Segment struct {
	Address  spec.Ptr
	Size     uint64
	Stream   spec.Stream // that its blocks are allocated for
	Pool     spec.PoolID
	PoolKind spec.PoolKind
	Blocks   []Block

	Made       int    // with TiesBySegment, the segments are numbered in the order in which they were made
	Expandable bool   // Size is that of the address range
	Page       uint64 // page size of an expandable segment
}

// A Block is a part of a segment that is allocated or free as a whole.
type Block struct {
	Address       spec.Ptr
	Size          uint64
	RequestedSize uint64 // by the last malloc of the block
	State         spec.BlockState
	Unmapped      bool                // no memory is mapped; then it is inactive
	StreamUses    []spec.DeviceStream // by RecordStream, in order; of a freed block only while its free is deferred
	GCCountBase   uint64              // GetFreeBlocksCallCount when it became inactive; otherwise zero
	Made          int                 // with TiesByBlock, the blocks are numbered in the order in which their objects were made
}

// An Event is recorded in a stream that used a freed block. The block cannot be
// allocated again before the event is complete.
type Event struct {
	Stream spec.DeviceStream
	After  int      // complete when this number of pieces of the stream's work are
	Block  spec.Ptr // the address of the block
}

// Counters are the statistics that do not follow from the segments. The names are
// those of spec.DeviceStats.
type Counters struct {
	NumAllocRetries, NumOOMs, NumSyncAllStreams, NumDeviceAlloc, NumDeviceFree int64

	// Oversize blocks and segments are counted by the max_split_size at the time of
	// the allocation and of the free.
	OversizeAllocations, OversizeSegments int64

	// MaxSplitSize is the setting at the start, -1 for unlimited.
	MaxSplitSize int64
}

// New is the initial state of an allocator on a device with a number of bytes of memory.
// The allocator follows rules.
func New(dev spec.Device, memory uint64, cfg spec.Config, g spec.Geometry, rules upstream.Rules) State {
	s := State{Device: dev, Geometry: g, Memory: memory, Config: cfg, Rules: rules}
	s.Counters.MaxSplitSize = -1
	if cfg.MaxSplitSize != spec.Unlimited {
		s.Counters.MaxSplitSize = int64(cfg.MaxSplitSize)
	}
	s.setFraction(cfg.PerProcessMemoryFraction)
	return s
}

// copy is a deep copy of what actions change.
func (s State) copy() State {
	s.Segments = slices.Clone(s.Segments)
	for i := range s.Segments {
		blocks := slices.Clone(s.Segments[i].Blocks)
		for j := range blocks {
			blocks[j].StreamUses = slices.Clone(blocks[j].StreamUses)
		}
		s.Segments[i].Blocks = blocks
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
	s.Checkpoints = slices.Clone(s.Checkpoints) // no action changes a Checkpoint
	return s
}

// Equal reports whether no sequence of actions and queries can tell two states apart.
func (s State) Equal(o State) bool {
	return s.Device == o.Device && s.Geometry == o.Geometry && s.Memory == o.Memory && s.Rules == o.Rules &&
		s.Marked == o.Marked && s.Current == o.Current &&
		s.Config == o.Config && s.Limited == o.Limited && s.Limit == o.Limit && s.FreeMemoryCallbacks == o.FreeMemoryCallbacks &&
		slices.EqualFunc(s.Segments, o.Segments, Segment.equal) &&
		slices.Equal(s.Events, o.Events) && slices.EqualFunc(s.Streams, o.Streams, Stream.equal) && slices.Equal(s.PendingMallocs, o.PendingMallocs) &&
		slices.Equal(s.Pools, o.Pools) && slices.Equal(s.Routings, o.Routings) && slices.Equal(s.GraphStreamUses, o.GraphStreamUses) &&
		slices.EqualFunc(s.Checkpoints, o.Checkpoints, Checkpoint.equal) &&
		s.GetFreeBlocksCallCount == o.GetFreeBlocksCallCount && s.Counters == o.Counters &&
		s.Truth.equal(o.Truth) && s.RelaxedCaptures == o.RelaxedCaptures && s.FreeWaits == o.FreeWaits
}

func (g Segment) equal(o Segment) bool {
	return g.Address == o.Address && g.Size == o.Size && g.Stream == o.Stream && g.Pool == o.Pool && g.PoolKind == o.PoolKind &&
		g.Expandable == o.Expandable && g.Page == o.Page && g.Made == o.Made &&
		slices.EqualFunc(g.Blocks, o.Blocks, Block.equal)
}

func (b Block) equal(o Block) bool {
	return b.Address == o.Address && b.Size == o.Size && b.RequestedSize == o.RequestedSize &&
		b.State == o.State && b.Unmapped == o.Unmapped && b.GCCountBase == o.GCCountBase && b.Made == o.Made && slices.Equal(b.StreamUses, o.StreamUses)
}

// A place is the position of a block: the index of its segment, and in it.
type place struct{ segment, block int }

// at is the block at a place.
func (s *State) at(p place) *Block { return &s.Segments[p.segment].Blocks[p.block] }

// find is the place of the first block, by address, that satisfies a predicate.
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

// findAllocated is the place of the allocated block at an address.
func (s *State) findAllocated(p spec.Ptr) (place, bool) {
	return s.find(func(_ *Segment, b *Block) bool { return b.Address == p && b.State == spec.ActiveAllocated })
}

// freeList lists the free blocks of a pool by stream and size. Of one size, the one whose
// segment or block was made first comes first, if the rules say so, else the lowest address.
func (s *State) freeList(pool spec.PoolID, kind spec.PoolKind) []place {
	var free []place
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Pool != pool || g.PoolKind != kind {
			continue
		}
		for j := range g.Blocks {
			if g.Blocks[j].IsFree() {
				free = append(free, place{i, j})
			}
		}
	}
	slices.SortFunc(free, func(p, q place) int {
		return cmp.Or(
			cmp.Compare(s.Segments[p.segment].Stream, s.Segments[q.segment].Stream),
			cmp.Compare(s.at(p).Size, s.at(q).Size),
			cmp.Compare(s.Segments[p.segment].Made, s.Segments[q.segment].Made),
			cmp.Compare(s.at(p).Made, s.at(q).Made),
			cmp.Compare(s.at(p).Address, s.at(q).Address))
	})
	return free
}
