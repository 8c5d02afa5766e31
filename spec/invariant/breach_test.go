package invariant_test

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// breach is a change to goodScene that breaks one invariant.
type breach struct {
	invariant string
	what      string
	from      invariant.Sources // what is looked at
	change    func(s *scene)
	want      []string // the sentences
}

func (b *breach) name() string { return fmt.Sprintf("%s/%s from %v", b.invariant, b.what, b.from) }

// The blocks of goodScene by their place in views.blocks, and in the snapshot by
// segment and place.
const (
	allocatedBlock = 0 // 0x200000, 512 bytes
	waitingBlock   = 1 // 0x200200, 1024 bytes, one event
	restBlock      = 2 // 0x200600
	largeBlock     = 3 // 0x10000000, 6 MiB allocated
	largeRestBlock = 4
	unsplitBlock   = 5  // 0x20000000, pool (0, 1)
	grownBlock     = 10 // 0x40000000, 12 MiB allocated
	holeBlock      = 12 // 0x41400000, 40 MiB unmapped
	tailBlock      = 14 // 0x45000000, 100 MiB unmapped
)

const (
	snapshotOnly  = invariant.FromSnapshot
	inspectorOnly = invariant.FromInspector
)

// inView and inSnapshot make a change of one block.
func inView(i int, change func(b *spec.BlockView)) func(*scene) {
	return func(s *scene) {
		change(&s.views.blocks[i])
		s.views.fillLists()
	}
}

func inSnapshot(segment int, change func(g *spec.Segment)) func(*scene) {
	return func(s *scene) { change(&s.snapshot.Segments[segment]) }
}

func inStats(change func(d *spec.DeviceStats)) func(*scene) {
	return func(s *scene) { change(&s.stats) }
}

var breaches = concat(tilingBreaches, neighbourBreaches, sizeBreaches, requestBreaches, statBreaches,
	listBreaches, heldBreaches, poolBreaches, historyBreaches)

func concat(lists ...[]breach) (all []breach) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

var tilingBreaches = []breach{
	{"BlocksTileSegments", "a gap", inspectorOnly,
		inView(restBlock, func(b *spec.BlockView) { b.Address += 512; b.Size -= 512 }),
		[]string{"512 bytes between block 0x200200, which ends at 0x200600, and block 0x200800 (2095104 bytes) belong to no block"}},
	{"BlocksTileSegments", "a gap", snapshotOnly,
		inSnapshot(1, func(g *spec.Segment) { g.Blocks[1].Address += 512; g.Blocks[1].Size -= 512 }),
		[]string{"512 bytes between block 0x10000000, which ends at 0x10600000, and block 0x10600200 (14679552 bytes) belong to no block"}},
	{"BlocksTileSegments", "an overlap", inspectorOnly,
		inView(restBlock, func(b *spec.BlockView) { b.Address -= 512; b.Size += 512 }),
		[]string{"block 0x200400 (2096128 bytes) begins 512 bytes before the end 0x200600 of the block before it, 0x200200"}},
	{"BlocksTileSegments", "a late first block", snapshotOnly,
		inSnapshot(3, func(g *spec.Segment) { g.Blocks[0].Address += 512; g.Blocks[0].Size -= 512 }),
		[]string{"the first block 0x21000200 is not where its segment begins, 0x21000000"}},
	{"BlocksTileSegments", "an early end", snapshotOnly,
		inSnapshot(3, func(g *spec.Segment) { g.Blocks[0].Size -= 512 }),
		[]string{"the last block 0x21000000 ends at 0x219ffe00, its segment at 0x21a00000"}},
	{"BlocksTileSegments", "no blocks", snapshotOnly,
		inSnapshot(3, func(g *spec.Segment) { g.Blocks = nil }),
		[]string{"segment 0x21000000 (10485760 bytes) has no blocks"}},
	{"BlocksTileSegments", "no last block", inspectorOnly,
		inView(restBlock, func(b *spec.BlockView) { b.Last = false }),
		[]string{"block 0x10000000 (6291456 bytes) is the first of a segment, but the segment at 0x200000 had no last block"}},
	{"BlocksTileSegments", "no last block of all", inspectorOnly,
		inView(tailBlock, func(b *spec.BlockView) { b.Last = false }),
		[]string{"block 0x45000000 (104857600 bytes) is followed by another one in its segment, but comes last"}},
	{"BlocksTileSegments", "no first block", inspectorOnly,
		inView(largeBlock, func(b *spec.BlockView) { b.First = false }),
		[]string{"block 0x10000000 (6291456 bytes) follows another one in its segment, but comes first"}},
	{"BlocksTileSegments", "another stream", inspectorOnly,
		inView(largeRestBlock, func(b *spec.BlockView) { b.Stream = sideStream }),
		[]string{"block 0x10600000 (14680064 bytes) is of stream 0x7000 in a segment of stream default"}},
	{"BlocksTileSegments", "another pool", inspectorOnly,
		inView(largeRestBlock, func(b *spec.BlockView) { b.Pool = mempool }),
		[]string{"block 0x10600000 (14680064 bytes) is of the large pool (0, 1) in a segment of the large pool (0, 0)"}},
	{"BlocksTileSegments", "another half", inspectorOnly,
		inView(largeRestBlock, func(b *spec.BlockView) { b.PoolKind = spec.SmallPool }),
		[]string{"block 0x10600000 (14680064 bytes) is of the small pool (0, 0) in a segment of the large pool (0, 0)"}},
	{"BlocksTileSegments", "half expandable", inspectorOnly,
		inView(largeRestBlock, func(b *spec.BlockView) { b.Expandable = true }),
		[]string{"block 0x10600000 (14680064 bytes) and the rest of its segment disagree on whether it is expandable"}},

	{"LiveBlocksDisjoint", "two segments", snapshotOnly,
		func(s *scene) { moveSegment(&s.snapshot.Segments[3], 0x20100000) },
		[]string{"segments 0x20000000 (2097152 bytes) and 0x20100000 (10485760 bytes) share 1048576 bytes"}},
	{"LiveBlocksDisjoint", "two segments", inspectorOnly,
		func(s *scene) {
			s.views.blocks[6].Address = 0x10700000
			s.views.fillLists()
		},
		[]string{"segments 0x10000000 (20971520 bytes) and 0x10700000 (10485760 bytes) share 10485760 bytes"}},
	{"LiveBlocksDisjoint", "three segments", inspectorOnly,
		func(s *scene) {
			s.views.blocks[5].Address = 0x10200000
			s.views.blocks[6].Address = 0x10700000
			s.views.fillLists()
		},
		[]string{
			"segments 0x10000000 (20971520 bytes) and 0x10200000 (2097152 bytes) share 2097152 bytes",
			"segments 0x10000000 (20971520 bytes) and 0x10700000 (10485760 bytes) share 10485760 bytes",
		}},
	{"LiveBlocksDisjoint", "out of order", snapshotOnly,
		func(s *scene) {
			g := s.snapshot.Segments
			g[0], g[1] = g[1], g[0]
		},
		[]string{"segment 0x200000 (2097152 bytes, device 0) is listed behind segment 0x10000000 of device 0: not by device and address"}},
	{"LiveBlocksDisjoint", "two allocations", invariant.FromHistory,
		func(s *scene) { s.history.Allocated(invariant.Allocation{Ptr: 0x10400000, Bytes: 4 * oneMiB}) },
		[]string{"0x10400000 (4194304 bytes) was allocated while 0x10000000 (6291455 bytes) was"}},
	{"LiveBlocksDisjoint", "the same allocation", invariant.FromHistory,
		func(s *scene) { s.history.Allocated(invariant.Allocation{Ptr: 0x10000000, Bytes: 512}) },
		[]string{"0x10000000 (512 bytes) was allocated while 0x10000000 (6291455 bytes) was"}},
}

func moveSegment(g *spec.Segment, to spec.Ptr) {
	for i := range g.Blocks {
		g.Blocks[i].Address += to - g.Address
	}
	g.Address = to
}

var neighbourBreaches = []breach{
	{"NoMergeableNeighbours", "two free blocks", inspectorOnly,
		func(s *scene) {
			s.views.blocks[waitingBlock].EventCount = 0
			s.views.pending = nil
			s.views.fillLists()
		},
		[]string{"blocks 0x200200 (1024 bytes) and 0x200600 (2095616 bytes) are neighbours and both free"}},
	{"NoMergeableNeighbours", "two free blocks", snapshotOnly,
		inSnapshot(0, func(g *spec.Segment) {
			g.Blocks[1].State = spec.Inactive
			g.ActiveSize, g.RequestedSize = 512, 500
		}),
		[]string{"blocks 0x200200 (1024 bytes) and 0x200600 (2095616 bytes) are neighbours and both free"}},
	{"NoMergeableNeighbours", "two free blocks of an expandable segment", snapshotOnly,
		inSnapshot(5, func(g *spec.Segment) {
			g.Blocks[0].State = spec.Inactive
			g.AllocatedSize, g.ActiveSize, g.RequestedSize = 0, 0, 0
		}),
		[]string{"blocks 0x40000000 (12582912 bytes) and 0x40c00000 (8388608 bytes) are neighbours and both free"}},
	{"NoMergeableNeighbours", "two unmapped ranges", inspectorOnly,
		func(s *scene) {
			b := &s.views.blocks[13]
			*b = spec.BlockView{Address: b.Address, Size: b.Size, Stream: sideStream, PoolKind: spec.LargePool, Expandable: true}
			s.views.fillLists()
		},
		[]string{
			"blocks 0x41400000 (41943040 bytes) and 0x43c00000 (20971520 bytes) are neighbours and both free",
			"blocks 0x43c00000 (20971520 bytes) and 0x45000000 (104857600 bytes) are neighbours and both free",
		}},

	{"ActiveBlocksAreMapped", "an allocated block", inspectorOnly,
		inView(grownBlock+3, func(b *spec.BlockView) { b.Mapped = false }),
		[]string{"block 0x43c00000 (20971520 bytes) is in use (active_allocated), but has no memory behind it"}},
	{"ActiveBlocksAreMapped", "a plain segment", inspectorOnly,
		inView(6, func(b *spec.BlockView) { b.Mapped = false }),
		[]string{"block 0x21000000 (10485760 bytes) has no memory behind it, but its segment is not expandable"}},
}

var sizeBreaches = []breach{
	{"SizesAndAlignment", "a byte too many", inspectorOnly,
		inView(restBlock, func(b *spec.BlockView) { b.Size -= 511 }),
		[]string{
			"segment 0x200000 of a small pool has 2096641 bytes instead of 2097152",
			"block 0x200600 has 2095105 bytes, not a positive multiple of 512",
		}},
	{"SizesAndAlignment", "an odd size", inspectorOnly,
		func(s *scene) {
			s.views.blocks[largeBlock].Size += 8
			s.views.blocks[largeRestBlock].Address += 8
			s.views.blocks[largeRestBlock].Size -= 8
			s.views.fillLists()
		},
		[]string{
			"block 0x10000000 has 6291464 bytes, not a positive multiple of 512",
			"block 0x10600008 (14680056 bytes) is not aligned to 512 bytes",
			"block 0x10600008 has 14680056 bytes, not a positive multiple of 512",
		}},
	{"SizesAndAlignment", "an empty block", snapshotOnly,
		inSnapshot(2, func(g *spec.Segment) { g.Blocks = append(g.Blocks, spec.Block{Address: 0x20200000}) }),
		[]string{"block 0x20200000 has 0 bytes, not a positive multiple of 512"}},
	{"SizesAndAlignment", "a misaligned segment", snapshotOnly,
		func(s *scene) { moveSegment(&s.snapshot.Segments[0], 0x200100) },
		[]string{
			"block 0x200100 (512 bytes) is not aligned to 512 bytes",
			"block 0x200300 (1024 bytes) is not aligned to 512 bytes",
			"block 0x200700 (2095616 bytes) is not aligned to 512 bytes",
		}},
	{"SizesAndAlignment", "a small segment", snapshotOnly,
		func(s *scene) { resize(&s.snapshot.Segments[0], 4*oneMiB) },
		[]string{"segment 0x200000 of a small pool has 4194304 bytes instead of 2097152"}},
	{"SizesAndAlignment", "a small expandable segment", snapshotOnly,
		func(s *scene) {
			s.snapshot.Segments[0].Expandable = true
			resize(&s.snapshot.Segments[0], 3*oneMiB)
		},
		[]string{"range 0x200000 of an expandable segment of a small pool has 3145728 bytes, not whole pages of 2097152"}},
	{"SizesAndAlignment", "a large segment below 10 MiB", snapshotOnly,
		func(s *scene) { resize(&s.snapshot.Segments[3], 8*oneMiB) },
		[]string{"segment 0x21000000 of a large pool has 8388608 bytes, less than 10485760"}},
	{"SizesAndAlignment", "a large segment of an odd size", snapshotOnly,
		func(s *scene) { resize(&s.snapshot.Segments[3], 10*oneMiB+512) },
		[]string{"segment 0x21000000 of a large pool has 10486272 bytes, which no request and no setting leads to"}},
	{"SizesAndAlignment", "a large expandable segment of an odd size", inspectorOnly,
		func(s *scene) {
			s.views.blocks[holeBlock].Size -= 512
			s.views.blocks[holeBlock+1].Address -= 512
			s.views.blocks[holeBlock+1].Size += 512
			s.views.fillLists()
		},
		[]string{
			"segment 0x41400000 of a large pool has 41942528 bytes, which no request and no setting leads to",
			"segment 0x43bffe00 of a large pool has 20972032 bytes, which no request and no setting leads to",
		}},
	{"SizesAndAlignment", "beyond all addresses", inspectorOnly,
		func(s *scene) {
			b := &s.views.blocks[tailBlock]
			b.Size = 0 - uint64(b.Address) + 20*oneMiB
			s.views.fillLists()
		},
		[]string{"block 0x45000000 (18446744072572895232 bytes) runs past the end of the address space"}},
}

func resize(g *spec.Segment, size uint64) {
	g.Blocks[len(g.Blocks)-1].Size += size - g.TotalSize
	g.TotalSize = size
}

var requestBreaches = []breach{
	{"RequestsFit", "nothing asked for", inspectorOnly,
		inView(allocatedBlock, func(b *spec.BlockView) { b.RequestedSize = 0 }),
		[]string{"block 0x200000 (512 bytes) is in use, but nothing was asked for"}},
	{"RequestsFit", "more asked for", snapshotOnly,
		inSnapshot(0, func(g *spec.Segment) { g.Blocks[1].RequestedSize = 1025; g.RequestedSize += 25 }),
		[]string{"block 0x200200 has 1024 bytes, 1025 were asked for"}},
	{"RequestsFit", "too much given", inspectorOnly,
		inView(waitingBlock, func(b *spec.BlockView) { b.RequestedSize = 512 }),
		[]string{"block 0x200200 of a small pool has 1024 bytes, more than rounding makes of the 512 that were asked for"}},
	{"RequestsFit", "too much given by a pool that splits", inspectorOnly,
		func(s *scene) { s.views.pools[1].NoSplit, s.views.pools[2].NoSplit = false, true },
		[]string{"block 0x20000000 of a small pool has 2097152 bytes, more than rounding makes of the 4096 that were asked for"}},
	{"RequestsFit", "a large block in a small pool", snapshotOnly,
		inSnapshot(0, func(g *spec.Segment) {
			g.Blocks[1].Size, g.Blocks[1].RequestedSize = oneMiB+512, oneMiB+512
			g.Blocks[2].Address = 0x200200 + spec.Ptr(oneMiB) + 512
			g.Blocks[2].Size = oneMiB - 1024
			g.ActiveSize, g.RequestedSize = oneMiB+1024, oneMiB+1012
		}),
		[]string{"block 0x200200 of a small pool has 1049088 bytes, more than rounding makes of the 1049088 that were asked for"}},
	{"RequestsFit", "a small block in a large pool", inspectorOnly,
		func(s *scene) {
			s.views.blocks[largeBlock].Size = oneMiB
			s.views.blocks[largeBlock].RequestedSize = oneMiB
			s.views.blocks[largeRestBlock].Address -= spec.Ptr(5 * oneMiB)
			s.views.blocks[largeRestBlock].Size += 5 * oneMiB
			s.views.fillLists()
		},
		[]string{"block 0x10000000 (1048576 bytes) of a large pool is in use, but a small pool serves up to 1048576 bytes"}},
}

var statBreaches = []breach{
	{"SegmentFiguresAddUp", "all three", snapshotOnly,
		inSnapshot(1, func(g *spec.Segment) { g.AllocatedSize = 0; g.ActiveSize--; g.RequestedSize++ }),
		[]string{
			"segment 0x10000000 says 0 allocated bytes, its blocks add up to 6291456",
			"segment 0x10000000 says 6291455 active bytes, its blocks add up to 6291456",
			"segment 0x10000000 says 6291456 requested bytes, its blocks add up to 6291455",
		}},

	{"AccountingAddsUp", "a lost allocation", invariant.FromStats | invariant.FromSnapshot,
		inStats(func(d *spec.DeviceStats) {
			d.Allocation.Decrease(spec.SmallPool, 1)
			d.Active.Decrease(spec.SmallPool, 1)
		}),
		[]string{
			"active.all.current is 7, a recount of the blocks gives 8",
			"active.small_pool.current is 4, a recount of the blocks gives 5",
			"allocation.all.current is 5, a recount of the blocks gives 6",
			"allocation.small_pool.current is 2, a recount of the blocks gives 3",
		}},
	{"AccountingAddsUp", "a segment too many", invariant.FromStats | invariant.FromInspector,
		inStats(func(d *spec.DeviceStats) { d.Segment.Increase(spec.LargePool, 1) }),
		[]string{
			"segment.all.current is 6, a recount of the blocks gives 5",
			"segment.large_pool.current is 3, a recount of the blocks gives 2",
		}},
	{"AccountingAddsUp", "bytes in the wrong pool", invariant.FromStats | invariant.FromInspector | invariant.FromSnapshot,
		inStats(func(d *spec.DeviceStats) {
			d.InactiveSplitBytes.Decrease(spec.LargePool, 512)
			d.InactiveSplitBytes.Increase(spec.SmallPool, 512)
		}),
		[]string{
			"inactive_split_bytes.large_pool.current is 14679552, a recount of the blocks gives 14680064",
			"inactive_split_bytes.small_pool.current is 4192256, a recount of the blocks gives 4191744",
		}},

	{"FiguresOverTimeAddUp", "a peak", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.ReservedBytes[spec.StatSmallPool].Peak = 100 }),
		[]string{
			"reserved_bytes.all.peak is 79691780, which peaks of 100 in small and 73400323 in large pools rule out",
			"reserved_bytes.small_pool.peak is 100, below the current 6291456",
		}},
	{"FiguresOverTimeAddUp", "more allocated than active", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.Allocation.Increase(spec.LargePool, 1) }),
		[]string{"allocation.large_pool is 4, above the 3 of active"}},
	{"FiguresOverTimeAddUp", "more allocated than active, in bytes", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.AllocatedBytes.Increase(spec.LargePool, 1) }),
		[]string{"allocated_bytes.large_pool is 39845889, above the 39845888 of active_bytes"}},
	{"FiguresOverTimeAddUp", "more active than reserved", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.ActiveBytes.Increase(spec.LargePool, 32*int64(oneMiB)+1) }),
		[]string{"active_bytes.large_pool is 73400321, above the 73400320 of reserved_bytes"}},
	{"FiguresOverTimeAddUp", "a peak of all", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.Allocation[spec.Aggregate].Peak = 13 }),
		[]string{"allocation.all.peak is 13, which peaks of 6 in small and 6 in large pools rule out"}},
	{"FiguresOverTimeAddUp", "a peak of a part", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.Allocation[spec.StatSmallPool].Peak = 14 }),
		[]string{"allocation.all.peak is 10, which peaks of 14 in small and 6 in large pools rule out"}},
	{"FiguresOverTimeAddUp", "a negative figure", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) {
			d.InactiveSplit = spec.StatArray{{Current: -1}, {Current: -1}, {}}
			d.InactiveSplit[spec.Aggregate].Freed = 1
			d.InactiveSplit[spec.StatSmallPool].Freed = 1
		}),
		[]string{
			"inactive_split.all is negative: current -1, allocated 0, freed 1",
			"inactive_split.small_pool is negative: current -1, allocated 0, freed 1",
		}},
	{"FiguresOverTimeAddUp", "sums", invariant.FromStats | invariant.FromHistory,
		inStats(func(d *spec.DeviceStats) {
			d.Segment[spec.StatLargePool].Freed--
			d.Segment[spec.Aggregate].Freed--
		}),
		[]string{
			"segment.all: allocated 15 - freed 9 is not current 5",
			"segment.large_pool: allocated 7 - freed 4 is not current 2",
		}},
	{"FiguresOverTimeAddUp", "sums of a kind that no reset explains", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.Segment[spec.StatLargePool].Freed--; d.Segment[spec.Aggregate].Freed-- }),
		[]string{
			"segment.all: allocated 15 - freed 9 is not current 5",
			"segment.large_pool: allocated 7 - freed 4 is not current 2",
		}},
	{"FiguresOverTimeAddUp", "not the sum of the pools", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) {
			a := &d.Active[spec.Aggregate]
			a.Current++
			a.Allocated++
		}),
		[]string{
			"active.all.allocated is 19, small pools have 10 and large pools 8",
			"active.all.current is 9, small pools have 5 and large pools 3",
		}},
	{"FiguresOverTimeAddUp", "more requested than there is", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.RequestedBytes.Increase(spec.LargePool, int64(oneMiB)+512) }),
		[]string{"requested_bytes.large_pool is 39846400, above the 39845888 of active_bytes"}},
	{"FiguresOverTimeAddUp", "oversize", invariant.FromStats | invariant.FromHistory,
		inStats(func(d *spec.DeviceStats) { d.OversizeAllocations = spec.Stat{Current: 2, Peak: 1, Allocated: 1} }),
		[]string{
			"oversize_allocations.peak is 1, below the current 2",
			"oversize_allocations: allocated 1 - freed 0 is not current 2",
		}},
	{"FiguresOverTimeAddUp", "counters", invariant.FromStats,
		inStats(func(d *spec.DeviceStats) { d.NumOOMs = -1; d.NumDeviceAlloc = 14; d.NumDeviceFree = 9 }),
		[]string{
			"num_device_alloc is 14, but 15 segments were obtained",
			"num_device_free is 9, but 10 segments were returned",
			"num_ooms is -1",
		}},

	{"NothingIsLost", "a leaked segment", invariant.FromDriver | invariant.FromStats,
		func(s *scene) { s.driver.Held += 2 * oneMiB },
		[]string{"the driver has given 81788928 bytes (0 of them uncached, 0 more are from pools' own functions), the allocator holds 79691776"}},
	{"NothingIsLost", "a page that was never released", invariant.FromDriver | invariant.FromSnapshot,
		func(s *scene) {
			s.driver = invariant.DriverBytes{Held: 96 * oneMiB, Uncached: oneMiB, Foreign: oneMiB}
		},
		[]string{"the driver has given 100663296 bytes (1048576 of them uncached, 1048576 more are from pools' own functions), the allocator holds 79691776"}},
}

var listBreaches = []breach{
	{"FreeListsHoldFreeBlocks", "a lost block", inspectorOnly,
		func(s *scene) { s.views.free = s.views.free[1:] },
		[]string{"block 0x200600 (2095616 bytes) is inactive, but not on the free list"}},
	{"FreeListsHoldFreeBlocks", "a lost range", inspectorOnly,
		func(s *scene) { s.views.unmapped = s.views.unmapped[:1] },
		[]string{"block 0x45000000 (104857600 bytes) is unmapped, but not on the list of unmapped ranges"}},
	{"FreeListsHoldFreeBlocks", "a block in use", inspectorOnly,
		func(s *scene) {
			s.views.free = append([]spec.BlockView{s.views.blocks[allocatedBlock]}, s.views.free...)
		},
		[]string{"the free list holds block 0x200000 (512 bytes), which is active_allocated"}},
	{"FreeListsHoldFreeBlocks", "a block that waits instead of a free one", inspectorOnly,
		func(s *scene) { s.views.free[0] = s.views.blocks[waitingBlock] },
		[]string{
			"the free list holds block 0x200200 (1024 bytes), which is active_pending_free",
			"block 0x200600 (2095616 bytes) is inactive, but not on the free list",
		}},
	{"FreeListsHoldFreeBlocks", "an unmapped range on the free list", inspectorOnly,
		func(s *scene) {
			s.views.free = append(s.views.free[:3:3], append([]spec.BlockView{s.views.blocks[holeBlock]}, s.views.free[3:]...)...)
		},
		[]string{"the free list holds block 0x41400000 (41943040 bytes), which is unmapped"}},
	{"FreeListsHoldFreeBlocks", "a block with memory among the unmapped ranges", inspectorOnly,
		func(s *scene) {
			s.views.unmapped = append([]spec.BlockView{s.views.blocks[grownBlock+1]}, s.views.unmapped...)
		},
		[]string{"the list of unmapped ranges holds block 0x40c00000 (8388608 bytes), which is inactive"}},
	{"FreeListsHoldFreeBlocks", "a block that is gone", inspectorOnly,
		func(s *scene) {
			gone := spec.BlockView{Address: 0x7f000000, Size: 512, Mapped: true}
			s.views.free = append([]spec.BlockView{gone}, s.views.free...)
		},
		[]string{"the free list holds 0x7f000000 (512 bytes), where no block begins"}},
	{"FreeListsHoldFreeBlocks", "a block that is gone, below the others", inspectorOnly,
		func(s *scene) {
			gone := spec.BlockView{Address: 0x1000, Size: 512, Mapped: true}
			s.views.free = append([]spec.BlockView{gone}, s.views.free...)
		},
		[]string{"the free list holds 0x1000 (512 bytes), where no block begins"}},
	{"FreeListsHoldFreeBlocks", "a stale size", inspectorOnly,
		func(s *scene) { s.views.free[0].Size = 4096 },
		[]string{"the free list holds block 0x200600 with 4096 bytes for stream default, but it has 2095616 bytes for stream default"}},
	{"FreeListsHoldFreeBlocks", "twice", inspectorOnly,
		func(s *scene) { s.views.free = append(s.views.free[:1:1], s.views.free...) },
		[]string{
			"block 0x200600 (2095616 bytes) is on the free list 2 times",
			"the free list has block 0x200600 (2095616 bytes) behind block 0x200600 (2095616 bytes), out of order",
		}},
	{"FreeListsHoldFreeBlocks", "out of order", inspectorOnly,
		func(s *scene) { s.views.unmapped[0], s.views.unmapped[1] = s.views.unmapped[1], s.views.unmapped[0] },
		[]string{"the list of unmapped ranges has block 0x41400000 (41943040 bytes) behind block 0x45000000 (104857600 bytes), out of order"}},
}

var heldBreaches = []breach{
	{"HeldBlocksAreAwaited", "a lost event", inspectorOnly,
		func(s *scene) { s.views.pending = nil },
		[]string{"block 0x200200 counts 1 events, 0 are queued for it"}},
	{"HeldBlocksAreAwaited", "an event too many", inspectorOnly,
		func(s *scene) { s.views.pending = append(s.views.pending, spec.PendingEventView{Block: 0x10600000}) },
		[]string{"block 0x10600000 counts 0 events, 1 are queued for it"}},
	{"HeldBlocksAreAwaited", "an event for another block", inspectorOnly,
		func(s *scene) { s.views.pending[0].Block = 0x200000 },
		[]string{
			"block 0x200000 counts 0 events, 1 are queued for it",
			"block 0x200200 counts 1 events, 0 are queued for it",
		}},
	{"HeldBlocksAreAwaited", "a forgotten deferred free", inspectorOnly,
		func(s *scene) { s.views.deferred = nil },
		[]string{"block 0x30000200 is freed and has stream uses, but no deferred free"}},
	{"HeldBlocksAreAwaited", "a deferred free of a block in use", inspectorOnly,
		func(s *scene) { s.views.deferred = append(s.views.deferred, spec.DeferredFreeView{Block: 0x200000}) },
		[]string{"a free of block 0x200000 is deferred 1 times, but it does not wait for one"}},
	{"HeldBlocksAreAwaited", "allocated too early", inspectorOnly,
		inView(waitingBlock, func(b *spec.BlockView) { b.Allocated = true }),
		[]string{"block 0x200200 (1024 bytes) is allocated while it waits for 1 events of an earlier lifetime"}},
}

var poolBreaches = []breach{
	{"PoolsOwnTheirBlocks", "a forgotten pool", inspectorOnly,
		func(s *scene) { s.views.pools = s.views.pools[:2] },
		[]string{"block 0x30000000 (512 bytes) belongs to pool (1, 0), which does not exist"}},
	{"PoolsOwnTheirBlocks", "freeable in use", inspectorOnly,
		func(s *scene) { s.views.pools[2].Freeable = true },
		[]string{"pool (1, 0) has a use count of 2 and is freeable"}},
	{"PoolsOwnTheirBlocks", "unused and not freeable", inspectorOnly,
		func(s *scene) { s.views.pools[2].UseCount = 0 },
		[]string{"pool (1, 0) has a use count of 0 and is not freeable"}},
}

const past = invariant.FromSnapshot | invariant.FromHistory

var historyBreaches = []breach{
	{"AllocatedBlocksWereGivenOut", "a leak", past,
		func(s *scene) { s.history.Freed(0x10000000) },
		[]string{"block 0x10000000 (6291456 bytes) is allocated, but the program does not have it"}},
	{"AllocatedBlocksWereGivenOut", "a lost allocation", past,
		func(s *scene) { s.history.Allocated(invariant.Allocation{Ptr: 0x21000000, Bytes: 9 * oneMiB}) },
		[]string{"the program has 0x21000000 (9437184 bytes), but no block there is allocated"}},
	{"AllocatedBlocksWereGivenOut", "another stream", past,
		inSnapshot(1, func(g *spec.Segment) { g.Stream = sideStream }),
		[]string{"0x10000000 (6291455 bytes) was asked for on stream default of device 0, but its block is of stream 0x7000 of device 0"}},
	{"AllocatedBlocksWereGivenOut", "too little", past,
		func(s *scene) {
			s.history.Freed(0x10000000)
			s.history.Allocated(invariant.Allocation{Ptr: 0x10000000, Bytes: 7 * oneMiB})
		},
		[]string{"the program has 7340032 bytes at 0x10000000, but the block has 6291456"}},
	{"AllocatedBlocksWereGivenOut", "a free of nothing", past,
		func(s *scene) { s.history.Freed(0x10000200) },
		[]string{"a free of 0x10000200 was accepted, which is not allocated"}},
	{"AllocatedBlocksWereGivenOut", "a stream use of nothing", past,
		func(s *scene) { s.history.StreamRecorded(0x10000200, 0, sideStream) },
		[]string{"a stream was recorded for 0x10000200, which is not allocated"}},

	{"NoReuseWhileInUse", "a stream still uses it", invariant.FromHistory,
		func(s *scene) { s.history.Allocated(invariant.Allocation{Ptr: 0x200200, Bytes: 512}) },
		[]string{"0x200200 (512 bytes) was allocated for stream default while work of stream 0x7000 on device 0 may still use 0x200200 (1000 bytes), freed by stream default"}},

	{"CapturedMemoryIsKept", "returned to the driver", past,
		func(s *scene) {
			s.history.Freed(0x30000000)
			s.snapshot.Segments = append(s.snapshot.Segments[:4:4], s.snapshot.Segments[5:]...)
		},
		[]string{
			"0x30000000 (1 bytes) was allocated in a capture from pool (1, 0), which is in use, but no segment of the pool holds it",
			"0x30000200 (512 bytes) was allocated in a capture from pool (1, 0), which is in use, but no segment of the pool holds it",
		}},
	{"CapturedMemoryIsKept", "given to another pool", past,
		inSnapshot(4, func(g *spec.Segment) { g.Pool = mempool }),
		[]string{
			"0x30000000 (1 bytes) was allocated in a capture from pool (1, 0), which is in use, but no segment of the pool holds it",
			"0x30000200 (512 bytes) was allocated in a capture from pool (1, 0), which is in use, but no segment of the pool holds it",
		}},
}
