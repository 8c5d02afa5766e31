package invariant

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// checkAllocated is invariant 13: a snapshot's allocated blocks against the program's
// live allocations. A block that the program does not have is a leak; memory that the
// program has and that no block has allocated will be allocated for somebody else.
func (h *History) checkAllocated(s *spec.Snapshot, r *violationReport) {
	blocks := allocatedBlocks(s)
	live := h.live
	for len(blocks) > 0 || len(live) > 0 {
		switch {
		case len(live) > 0 && live[0].Uncached:
			live = live[1:]
		case len(live) == 0 || len(blocks) > 0 && blocks[0].address < live[0].Ptr:
			b := blocks[0]
			r.add(allocatedBlocksWereGivenOut, b.segment.Device, b.address,
				"block %v (%d bytes) is allocated, but the program does not have it", b.address, b.size)
			blocks = blocks[1:]
		case len(blocks) == 0 || live[0].Ptr < blocks[0].address:
			a := &live[0]
			r.add(allocatedBlocksWereGivenOut, a.Device, a.Ptr,
				"the program has %v (%d bytes), but no block there is allocated", a.Ptr, a.Bytes)
			live = live[1:]
		default:
			checkPairing(&live[0], &blocks[0], r)
			live, blocks = live[1:], blocks[1:]
		}
	}
}

// checkPairing looks whether a block is what was asked for.
func checkPairing(a *allocation, b *allocatedBlock, r *violationReport) {
	s := b.segment
	if s.Device != a.Device || s.Stream != a.Stream {
		r.add(allocatedBlocksWereGivenOut, a.Device, a.Ptr,
			"%v (%d bytes) was asked for on stream %v of device %d, but its block is of stream %v of device %d",
			a.Ptr, a.Bytes, a.Stream, a.Device, s.Stream, s.Device)
	}
	if b.size < a.Bytes {
		r.add(allocatedBlocksWereGivenOut, a.Device, a.Ptr,
			"the program has %d bytes at %v, but the block has %d", a.Bytes, a.Ptr, b.size)
	}
}

// allocatedBlock is an allocated block of a snapshot.
type allocatedBlock struct {
	address spec.Ptr
	size    uint64
	segment *spec.Segment
}

// allocatedBlocks lists them by address.
func allocatedBlocks(s *spec.Snapshot) (blocks []allocatedBlock) {
	for i := range s.Segments {
		segment := &s.Segments[i]
		for j := range segment.Blocks {
			if b := &segment.Blocks[j]; b.State == spec.ActiveAllocated {
				blocks = append(blocks, allocatedBlock{b.Address, b.Size, segment})
			}
		}
	}
	slices.SortStableFunc(blocks, func(a, b allocatedBlock) int { return cmp.Compare(a.address, b.address) })
	return blocks
}
