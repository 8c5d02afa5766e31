package invariant_test

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// scene is an allocator at one moment, from every side: what it would show of
// itself, its snapshot and statistics, what the driver says, and what the program
// did. Its parts agree until a test changes one.
type scene struct {
	views    *views
	snapshot spec.Snapshot
	stats    spec.DeviceStats
	driver   invariant.DriverBytes
	history  *invariant.History
}

const (
	oneKiB = spec.KiB
	oneMiB = spec.MiB

	sideStream = spec.Stream(0x7000) // a stream beside the default one
)

var (
	mempool   = spec.PoolID{User: 1}    // does not split
	graphPool = spec.PoolID{Capture: 1} // of a capture that is under way
)

// goodScene has one of everything:
//
//	0x200000    small, 2 MiB     512 allocated, 1024 waiting for an event, rest free
//	0x10000000  large, 20 MiB    6 MiB allocated, 14 MiB free
//	0x20000000  small, 2 MiB     4096 bytes asked for, given whole (pool (0, 1) does not split)
//	0x21000000  large, 10 MiB    free as a whole, pool (0, 1)
//	0x30000000  small, 2 MiB     512 allocated, 512 whose free is deferred, rest free (pool (1, 0))
//	0x40000000  expandable large of a side stream, in pages of 20 MiB:
//	            12 MiB allocated, 8 MiB free, 40 MiB unmapped, 20 MiB allocated, 100 MiB unmapped
func goodScene() *scene {
	s := &scene{views: goodViews()}
	s.snapshot = s.views.snapshot()
	s.stats = goodStats()
	s.driver = invariant.DriverBytes{Held: 76 * oneMiB}
	s.history = goodHistory()
	return s
}

func goodViews() *views {
	v := &views{
		pools: []spec.PoolView{
			{},
			{ID: mempool, UseCount: 1, NoSplit: true, DriverSegments: 2},
			{ID: graphPool, UseCount: 2, DriverSegments: 1},
		},
		pending:  []spec.PendingEventView{{Stream: sideStream, Event: 1, Block: 0x200200}},
		deferred: []spec.DeferredFreeView{{Block: 0x30000200}},
	}
	v.segment(spec.BlockView{Address: 0x200000},
		givenBlock(512, 500), spec.BlockView{Size: 1024, RequestedSize: 1000, EventCount: 1, Mapped: true}, unusedBlock(2*oneMiB-1536))
	v.segment(spec.BlockView{Address: 0x10000000, PoolKind: spec.LargePool},
		givenBlock(6*oneMiB, 6*oneMiB-1), unusedBlock(14*oneMiB))
	v.segment(spec.BlockView{Address: 0x20000000, Pool: mempool},
		givenBlock(2*oneMiB, 4*oneKiB))
	v.segment(spec.BlockView{Address: 0x21000000, Pool: mempool, PoolKind: spec.LargePool},
		unusedBlock(10*oneMiB))
	v.segment(spec.BlockView{Address: 0x30000000, Pool: graphPool, Stream: sideStream},
		givenBlock(512, 1), spec.BlockView{Size: 512, RequestedSize: 512, StreamUses: 1, Mapped: true}, unusedBlock(2*oneMiB-1024))
	v.segment(spec.BlockView{Address: 0x40000000, Stream: sideStream, PoolKind: spec.LargePool, Expandable: true},
		givenBlock(12*oneMiB, 12*oneMiB), unusedBlock(8*oneMiB), unmappedBlock(40*oneMiB), givenBlock(20*oneMiB, 19*oneMiB+1), unmappedBlock(100*oneMiB))
	v.fillLists()
	return v
}

func givenBlock(size, requested uint64) spec.BlockView {
	return spec.BlockView{Size: size, RequestedSize: requested, Allocated: true, Mapped: true}
}

// unused is a free block. What was last asked for is stale.
func unusedBlock(size uint64) spec.BlockView {
	return spec.BlockView{Size: size, RequestedSize: 77, Mapped: true}
}

func unmappedBlock(size uint64) spec.BlockView { return spec.BlockView{Size: size} }

// goodStats is what the statistics should say of goodScene, by hand.
func goodStats() spec.DeviceStats {
	at := func(small, large int64) spec.StatArray {
		stat := func(n int64) spec.Stat { return spec.Stat{Current: n, Peak: n + 3, Allocated: n + 5, Freed: 5} }
		all := spec.Stat{Current: small + large, Peak: small + large + 4, Allocated: small + large + 10, Freed: 10}
		return spec.StatArray{all, stat(small), stat(large)}
	}
	const smallFree = 2*int64(oneMiB) - 1536 + 2*int64(oneMiB) - 1024
	return spec.DeviceStats{
		Allocation:    at(3, 3),
		Segment:       at(3, 2),
		Active:        at(5, 3),
		InactiveSplit: at(2, 1),

		AllocatedBytes:     at(512+2*int64(oneMiB)+512, 38*int64(oneMiB)),
		ReservedBytes:      at(6*int64(oneMiB), 70*int64(oneMiB)),
		ActiveBytes:        at(512+1024+2*int64(oneMiB)+1024, 38*int64(oneMiB)),
		InactiveSplitBytes: at(smallFree, 14*int64(oneMiB)),
		RequestedBytes:     at(500+1000+4096+1+512, 6*int64(oneMiB)-1+12*int64(oneMiB)+19*int64(oneMiB)+1),

		NumDeviceAlloc: 20,
		NumDeviceFree:  12,
		MaxSplitSize:   -1,
	}
}

// goodHistory is a program to which goodScene can happen.
func goodHistory() *invariant.History {
	h := invariant.NewHistory()
	give := func(s spec.Stream, p spec.Ptr, bytes uint64) {
		h.Allocated(invariant.Allocation{Stream: s, Ptr: p, Bytes: bytes})
	}
	give(0, 0x200000, 500)
	give(0, 0x200200, 1000)
	h.StreamRecorded(0x200200, 0, sideStream)
	h.Submitted(0, sideStream)
	h.Freed(0x200200)
	give(0, 0x10000000, 6*oneMiB-1)
	h.PoolBegun(0, mempool, trace.ByThread, 0, 0)
	give(0, 0x20000000, 4*oneKiB)
	h.PoolEnded(0, mempool)
	give(sideStream, 0x40000000, 12*oneMiB)
	give(sideStream, 0x40000000+spec.Ptr(60*oneMiB), 19*oneMiB+1)
	h.PoolBegun(0, graphPool, trace.ByStream, 0, sideStream)
	h.CaptureBegun(0, sideStream)
	give(sideStream, 0x30000000, 1)
	give(sideStream, 0x30000200, 512)
	h.StreamRecorded(0x30000200, 0, 0)
	h.Freed(0x30000200)
	return h
}

// observe keeps of the scene what can be seen from the sources.
func (s *scene) observe(from invariant.Sources) *invariant.Observation {
	o := &invariant.Observation{Geometry: spec.DefaultGeometry(), Devices: 1}
	if from&invariant.FromSnapshot != 0 {
		o.Snapshot = &s.snapshot
	}
	if from&invariant.FromStats != 0 {
		o.Stats = []spec.DeviceStats{s.stats}
	}
	if from&invariant.FromInspector != 0 {
		o.Inspector = s.views
	}
	if from&invariant.FromDriver != 0 {
		o.Driver = []invariant.DriverBytes{s.driver}
	}
	if from&invariant.FromHistory != 0 {
		o.History = s.history
	}
	return o
}

// views is an Inspector that shows what it is told to. Segments stand by address.
type views struct {
	blocks   []spec.BlockView
	free     []spec.BlockView
	unmapped []spec.BlockView
	pools    []spec.PoolView
	pending  []spec.PendingEventView
	deferred []spec.DeferredFreeView
	err      error
}

// segment adds blocks that stand one behind the other from an address on.
func (v *views) segment(like spec.BlockView, blocks ...spec.BlockView) {
	at := like.Address
	for i, b := range blocks {
		b.Address, b.Stream, b.Pool, b.PoolKind, b.Expandable = at, like.Stream, like.Pool, like.PoolKind, like.Expandable
		b.First, b.Last = i == 0, i == len(blocks)-1
		at += spec.Ptr(b.Size)
		v.blocks = append(v.blocks, b)
	}
}

func (v *views) Inspect(dev spec.Device, visitor spec.Visitor) error {
	if v.err != nil || dev != 0 {
		return errors.Join(v.err, errUnknownDevice)
	}
	visitAll(v.blocks, visitor.Block)
	visitAll(v.free, visitor.Free)
	visitAll(v.unmapped, visitor.Unmapped)
	visitAll(v.pools, visitor.Pool)
	visitAll(v.pending, visitor.PendingEvent)
	visitAll(v.deferred, visitor.DeferredFree)
	return nil
}

var errUnknownDevice = errors.New("no such device")

func visitAll[T any](list []T, visit func(*T)) {
	if visit == nil {
		return
	}
	for i := range list {
		visit(&list[i])
	}
}
