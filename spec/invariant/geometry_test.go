package invariant_test

import (
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// Nothing is tied to upstream's sizes. This geometry has a "MiB", a granularity
// and a large buffer that are no multiples of each other.
func TestSegmentSizesOfAnyGeometry(t *testing.T) {
	g := spec.Geometry{
		MinBlock: 4, SmallSize: 8, SmallBuffer: 16, MinLargeAlloc: 20, LargeBuffer: 28, RoundLarge: 12,
		DivisionsStart: 8, MaxRequest: 1 << 20, MiB: 40,
	}
	for _, c := range []struct {
		kind       spec.PoolKind
		expandable bool
		size       uint64
		good       bool
	}{
		{spec.SmallPool, false, 16, true},
		{spec.SmallPool, false, 32, false},
		{spec.SmallPool, true, 32, true},
		{spec.SmallPool, true, 24, false},
		{spec.LargePool, false, 16, false}, // below MinLargeAlloc
		{spec.LargePool, false, 28, true},  // LargeBuffer
		{spec.LargePool, false, 56, false}, // two of them
		{spec.LargePool, false, 24, true},  // a multiple of RoundLarge
		{spec.LargePool, false, 40, true},  // large_segment_size_mb:1
		{spec.LargePool, false, 32, false},
		{spec.LargePool, true, 28, true}, // pages of LargeBuffer
		{spec.LargePool, true, 56, true},
		{spec.LargePool, true, 80, true}, // pages of large_segment_size_mb:1 or :2
		{spec.LargePool, true, 24, false},
	} {
		v := &views{}
		v.segment(spec.BlockView{Address: 0x1000, PoolKind: c.kind, Expandable: c.expandable}, unusedBlock(c.size))
		v.fillLists()
		violations, err := invariant.CheckInspector(0, v, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if good := len(violations) == 0; good != c.good {
			t.Errorf("large %v, expandable %v, %d bytes: %v", c.kind, c.expandable, c.size, violations)
		}
	}
}

// Blocks can be coarser than what the driver aligns to.
func TestAlignmentOfAnyGeometry(t *testing.T) {
	g := spec.DefaultGeometry()
	g.MinBlock = 4 * oneKiB
	for _, c := range []struct {
		at   spec.Ptr
		pool spec.PoolID
		good bool
	}{
		{0x100000, spec.DefaultPool, true},
		{0x100200, spec.DefaultPool, true},
		{0x100100, spec.DefaultPool, false},
		{0x100100, mempool, true}, // the program's functions may have given it
	} {
		v := &views{pools: []spec.PoolView{{ID: mempool, UseCount: 1}}}
		v.segment(spec.BlockView{Address: c.at, Pool: c.pool}, unusedBlock(2*oneMiB))
		v.fillLists()
		violations, err := invariant.CheckInspector(0, v, g, nil)
		if err != nil {
			t.Fatal(err)
		}
		if good := len(violations) == 0; good != c.good {
			t.Errorf("address %v in pool %v: %v", c.at, c.pool, violations)
		}
	}
}

// In a small pool a block is a rounded request: to the next block, or by
// roundup_power2_divisions to a step on the way to the next power of two.
func TestRoundingExplainsSmallBlocks(t *testing.T) {
	for _, c := range []struct {
		requested, size uint64
		good            bool
	}{
		{1, 512, true}, {512, 512, true}, {513, 1024, true}, {1, 1024, false}, {512, 1024, false},
		{1025, 1536, true}, {1025, 2048, true}, {1025, 2560, false}, {1024, 2048, false},
		{4097, 5120, true}, {4097, 8192, true}, {4097, 8704, false},
		{oneMiB/2 + 1, oneMiB, true}, {oneMiB - 1, oneMiB, true}, {oneMiB, oneMiB, true},
	} {
		v := &views{}
		v.segment(spec.BlockView{Address: 0x200000}, givenBlock(c.size, c.requested), unusedBlock(2*oneMiB-c.size))
		v.fillLists()
		violations, err := invariant.CheckInspector(0, v, spec.DefaultGeometry(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if good := len(violations) == 0; good != c.good {
			t.Errorf("%d bytes for a request of %d: %v", c.size, c.requested, violations)
		}
	}
}
