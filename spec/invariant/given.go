package invariant

import (
	"cmp"
	"gaugeblock/spec"
	"slices"
)

// checkGivenOut is invariant 13: a snapshot's allocated blocks against what is out.
// A block that is allocated and not out is a leak; one that is out and not
// allocated will be given to somebody else.
func (h *History) checkGivenOut(s *spec.Snapshot, r *violationReport) {
	blocks := allocatedBlocks(s)
	out := h.out
	for len(blocks) > 0 || len(out) > 0 {
		switch {
		case len(out) > 0 && out[0].Uncached:
			out = out[1:]
		case len(out) == 0 || len(blocks) > 0 && blocks[0].address < out[0].Ptr:
			b := blocks[0]
			r.add(allocatedBlocksWereGivenOut, b.segment.Device, b.address,
				"block %v (%d bytes) is allocated, but the program does not have it", b.address, b.size)
			blocks = blocks[1:]
		case len(blocks) == 0 || out[0].Ptr < blocks[0].address:
			a := &out[0]
			r.add(allocatedBlocksWereGivenOut, a.Device, a.Ptr,
				"the program has %v (%d bytes), but no block there is allocated", a.Ptr, a.Bytes)
			out = out[1:]
		default:
			checkPairing(&out[0], &blocks[0], r)
			out, blocks = out[1:], blocks[1:]
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
