package spec

// Snapshot is all memory that an allocator has reserved from the driver, with the
// history if it is recorded. It is a copy: nothing in it changes afterwards.
type Snapshot struct {
	Segments    []Segment        // by device, then address
	Traces      [][]HistoryEntry // the trace buffer of each device, oldest entry first
	Annotations []Annotation
	Config      Config
}

// Segment is memory obtained from the driver in one piece; an expandable segment
// appears once for each contiguous mapped range. Sizes are in bytes.
type Segment struct {
	Device     Device
	Address    Ptr
	TotalSize  uint64
	Stream     Stream
	Pool       PoolID
	PoolKind   PoolKind
	Expandable bool

	AllocatedSize uint64 // of allocated blocks
	ActiveSize    uint64 // of allocated blocks, and of freed blocks that a stream still uses
	RequestedSize uint64 // the sum of the active blocks' requested sizes

	Blocks  []Block // by address, without gaps
	Context any     // call stack of the request that obtained it
}

// Block is a part of a segment that as a whole has one state.
type Block struct {
	Address       Ptr
	Size          uint64
	RequestedSize uint64 // of the allocation; if the block is inactive, left from an earlier one
	State         BlockState
	Context       any // call stack of the allocation (context_when_allocated)
}

// BlockState is the state that PyTorch's snapshots give a block.
type BlockState uint8

const (
	// Inactive: free for reuse.
	Inactive BlockState = iota
	// ActiveAllocated: allocated.
	ActiveAllocated
	// ActivePendingFree: freed by the caller, but streams may still use it.
	ActivePendingFree
)

var blockStateNames = [...]string{"inactive", "active_allocated", "active_pending_free"}

// String is the name that PyTorch's snapshots use.
func (s BlockState) String() string { return blockStateNames[s] }

// BlockStateNames lists the names of all states, by state.
func BlockStateNames() []string { return blockStateNames[:] }

// ParseBlockState is the inverse of String. Older PyTorch wrote
// "active_awaiting_free" for the last state.
func ParseBlockState(name string) (BlockState, bool) {
	for i, n := range blockStateNames {
		if n == name {
			return BlockState(i), true
		}
	}
	if name == "active_awaiting_free" {
		return ActivePendingFree, true
	}
	return 0, false
}
