package invariant_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

// busyViews is a device with blocks of all kinds: segments of small pools with
// sixteen blocks each, of which every fourth is free, one in sixteen waits, and
// the rest is allocated.
func busyViews(blocks int) (*views, *spec.DeviceStats) {
	v := &views{pools: []spec.PoolView{{}}}
	for at := spec.Ptr(0x10000000); len(v.blocks) < blocks; at += spec.Ptr(2 * oneMiB) {
		var row []spec.BlockView
		for i := range 16 {
			b := givenBlock(oneMiB/8, oneMiB/8)
			switch {
			case i%4 == 3:
				b = unusedBlock(oneMiB / 8)
			case i == 5:
				b.Allocated, b.EventCount = false, 1
				v.pending = append(v.pending, spec.PendingEventView{Block: at + spec.Ptr(5*oneMiB/8)})
			}
			row = append(row, b)
		}
		v.segment(spec.BlockView{Address: at, Stream: sideStream}, row...)
	}
	v.fillLists()

	n := int64(len(v.blocks) / 16)
	const bytes = int64(oneMiB / 8)
	at := func(count int64) spec.StatArray {
		s := spec.Stat{Current: count, Peak: count, Allocated: count}
		return spec.StatArray{s, s, {}}
	}
	return v, &spec.DeviceStats{
		Allocation: at(11 * n), Segment: at(n), Active: at(12 * n), InactiveSplit: at(4 * n),
		AllocatedBytes: at(11 * n * bytes), ReservedBytes: at(16 * n * bytes), ActiveBytes: at(12 * n * bytes),
		InactiveSplitBytes: at(4 * n * bytes), RequestedBytes: at(12 * n * bytes),
		NumDeviceAlloc: n,
	}
}

// A checker that is used again and again allocates nothing as long as all is well,
// whatever it found before.
func TestCheckerAllocatesNothing(t *testing.T) {
	good, stats := busyViews(1000)
	scene := goodScene()
	broken := goodScene()
	broken.views.free = broken.views.free[1:]
	c := invariant.NewChecker(spec.DefaultGeometry())
	check := func(in spec.Inspector, stats *spec.DeviceStats, want int) {
		if violations, err := c.Check(0, in, stats); err != nil || len(violations) != want {
			t.Fatalf("%v, %v", violations, err)
		}
	}
	check(broken.views, &broken.stats, 1)
	allocated := testing.AllocsPerRun(10, func() {
		check(good, stats, 0)
		check(scene.views, &scene.stats, 0)
	})
	if allocated > 0 {
		t.Errorf("%v allocations", allocated)
	}
	check(broken.views, &broken.stats, 1)
}

// A checker looks at the statistics by themselves as well.
func TestCheckerChecksFigures(t *testing.T) {
	s := goodScene()
	s.stats.NumOOMs = -1
	violations, err := invariant.CheckInspector(0, s.views, spec.DefaultGeometry(), &s.stats)
	if diff := cmp.Diff([]string{"FiguresOverTimeAddUp: num_ooms is -1"}, sentences(violations)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// When lists and events are both wrong, both are told.
func TestListsAndEvents(t *testing.T) {
	s := goodScene()
	s.views.free = s.views.free[1:]
	s.views.pending = nil
	violations, err := invariant.CheckInspector(0, s.views, spec.DefaultGeometry(), nil)
	if err != nil || len(violations) != 2 || violations[0].Invariant == violations[1].Invariant {
		t.Errorf("%v, %v", err, sentences(violations))
	}
}

// A last segment whose last block says that another one follows is a segment all the same.
func TestLastSegmentIsOpen(t *testing.T) {
	v := &views{pools: []spec.PoolView{{}}}
	v.segment(spec.BlockView{Address: 0x10000000, PoolKind: spec.LargePool}, givenBlock(20*oneMiB, 20*oneMiB))
	v.segment(spec.BlockView{Address: 0x10000000 + spec.Ptr(19*oneMiB), PoolKind: spec.LargePool}, givenBlock(20*oneMiB, 20*oneMiB))
	v.blocks[1].Last = false
	violations, err := invariant.CheckInspector(0, v, spec.DefaultGeometry(), nil)
	want := []string{
		"BlocksTileSegments: block 0x11300000 (20971520 bytes) is followed by another one in its segment, but comes last",
		"LiveBlocksDisjoint: segments 0x10000000 (20971520 bytes) and 0x11300000 (20971520 bytes) share 1048576 bytes",
	}
	if diff := cmp.Diff(want, sentences(violations)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	violations, err = invariant.CheckInspector(0, v, spec.DefaultGeometry(), &spec.DeviceStats{})
	if err != nil || !slices.Contains(sentences(violations), "AccountingAddsUp: segment.large_pool.current is 0, a recount of the blocks gives 2") {
		t.Error(err, sentences(violations))
	}
}

// Lists are shown by pool, the small half first, then by stream, size and address:
// whatever comes later in that order may be smaller than what came before.
func TestListsAreInOrder(t *testing.T) {
	v := &views{pools: []spec.PoolView{{}, {ID: mempool, UseCount: 1}, {ID: graphPool, UseCount: 1}}}
	at := spec.Ptr(0x10000000)
	add := func(like spec.BlockView, blocks ...spec.BlockView) {
		like.Address = at
		v.segment(like, blocks...)
		at += spec.Ptr(20 * oneMiB)
	}
	add(spec.BlockView{Pool: graphPool, PoolKind: spec.LargePool}, givenBlock(12*oneMiB, 12*oneMiB), unusedBlock(8*oneMiB))
	add(spec.BlockView{Pool: graphPool, Stream: sideStream}, unusedBlock(2*oneMiB))
	add(spec.BlockView{Pool: mempool, PoolKind: spec.LargePool, Stream: sideStream}, unusedBlock(20*oneMiB))
	add(spec.BlockView{PoolKind: spec.LargePool}, givenBlock(19*oneMiB, 19*oneMiB), unusedBlock(oneMiB))
	add(spec.BlockView{Stream: sideStream}, unusedBlock(2*oneMiB))
	add(spec.BlockView{}, unusedBlock(2*oneMiB))
	add(spec.BlockView{PoolKind: spec.LargePool, Stream: sideStream}, unusedBlock(10*oneMiB))
	add(spec.BlockView{PoolKind: spec.LargePool, Expandable: true}, unmappedBlock(40*oneMiB))
	at += spec.Ptr(20 * oneMiB)
	add(spec.BlockView{PoolKind: spec.LargePool, Expandable: true}, unmappedBlock(20*oneMiB))
	v.fillLists()
	violations, err := invariant.CheckInspector(0, v, spec.DefaultGeometry(), nil)
	if err != nil || violations != nil {
		t.Errorf("%v, %v", violations, err)
	}
	for _, list := range [][]spec.BlockView{v.free, v.unmapped} {
		for i := 1; i < len(list); i++ {
			list[i-1], list[i] = list[i], list[i-1]
			violations, err := invariant.CheckInspector(0, v, spec.DefaultGeometry(), nil)
			if err != nil || len(violations) == 0 {
				t.Errorf("entries %v and %v may change places: %v", list[i].Address, list[i-1].Address, err)
			}
			list[i-1], list[i] = list[i], list[i-1]
		}
	}
}

// One pass over 1,000 blocks, as tests do it after every operation.
func BenchmarkChecker(b *testing.B) {
	for _, c := range []struct {
		name   string
		blocks int
	}{{"16", 16}, {"1000", 1000}, {"100000", 100000}} {
		b.Run(c.name, func(b *testing.B) {
			v, stats := busyViews(c.blocks)
			checker := invariant.NewChecker(spec.DefaultGeometry())
			b.ReportAllocs()
			for b.Loop() {
				if violations, err := checker.Check(0, v, stats); err != nil || violations != nil {
					b.Fatal(violations, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v.blocks)), "ns/block")
		})
	}
}

// The whole of an observation of 1,000 blocks, with the past.
func BenchmarkCheckAll(b *testing.B) {
	v, stats := busyViews(1000)
	snapshot := v.snapshot()
	h := invariant.NewHistory()
	for _, block := range v.blocks {
		if block.Allocated {
			h.Allocated(invariant.Allocation{Stream: sideStream, Ptr: block.Address, Bytes: block.RequestedSize})
		}
	}
	o := &invariant.Observation{
		Geometry: spec.DefaultGeometry(), Devices: 1,
		Snapshot: &snapshot, Stats: []spec.DeviceStats{*stats}, Inspector: v, History: h,
	}
	b.ReportAllocs()
	for b.Loop() {
		if violations, err := invariant.CheckAll(o); err != nil || violations != nil {
			b.Fatal(violations, err)
		}
	}
}
