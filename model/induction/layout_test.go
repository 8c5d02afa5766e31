package induction

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// layouts lists the segments and blocks of all states, without events and work. Segments
// lie anywhere among the addresses, and together are not larger than the device.
func (u *Universe) layouts() (all [][]model.Segment) {
	variants := u.segments()
	var extend func(before []model.Segment, from spec.Ptr, memory uint64)
	extend = func(before []model.Segment, from spec.Ptr, memory uint64) {
		all = append(all, before)
		for _, g := range variants {
			if g.Address >= from && g.Size <= memory {
				extend(append(slices.Clone(before), g), g.Address+spec.Ptr(g.Size), memory-g.Size)
			}
		}
	}
	extend(nil, bounded.AddressBase, u.bounds.Memory)
	return all
}

// segments lists all segments by themselves, at each address.
func (u *Universe) segments() (list []model.Segment) {
	end := bounded.AddressBase + spec.Ptr(u.addresses())
	for at := bounded.AddressBase; at < end; at++ {
		for size := uint64(1); size <= u.bounds.Memory && at+spec.Ptr(size) <= end; size++ {
			for _, stream := range u.bounds.Streams {
				for _, kind := range []spec.PoolKind{spec.SmallPool, spec.LargePool} {
					g := model.Segment{Address: at, Size: size, Stream: stream, PoolKind: kind}
					u.tilings(g, func(blocks []model.Block) {
						g.Blocks = slices.Clone(blocks)
						if s := u.state([]model.Segment{g}); broken(u.ofLayout, s) == "" {
							list = append(list, g)
						}
					})
				}
			}
		}
	}
	return list
}

// tilings yields the blocks that a segment may consist of.
func (u *Universe) tilings(g model.Segment, yield func([]model.Block)) {
	var extend func(before []model.Block, from spec.Ptr)
	extend = func(before []model.Block, from spec.Ptr) {
		left := uint64(g.Address) + g.Size - uint64(from)
		if left == 0 {
			yield(before)
		}
		for size := uint64(1); size <= left; size++ {
			for _, b := range u.blocks(g.Stream) {
				b.Address, b.Size = from, size
				extend(append(slices.Clip(before), b), from+spec.Ptr(size))
			}
		}
	}
	extend(nil, g.Address)
}

// blocks lists what a block can be: free, waiting for events, or allocated with each
// request and each set of stream uses.
func (u *Universe) blocks(own spec.Stream) []model.Block {
	list := []model.Block{{State: spec.Inactive}, {State: spec.ActivePendingFree}}
	for _, requested := range u.bounds.Sizes {
		for set := range 1 << len(u.bounds.Streams) {
			b := model.Block{State: spec.ActiveAllocated, RequestedSize: requested}
			for i, stream := range u.bounds.Streams {
				if set>>i&1 != 0 {
					b.StreamUses = append(b.StreamUses, spec.DeviceStream{Stream: stream})
				}
			}
			if !slices.Contains(b.StreamUses, spec.DeviceStream{Stream: own}) {
				list = append(list, b)
			}
		}
	}
	return list
}
