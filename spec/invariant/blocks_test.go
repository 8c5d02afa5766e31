package invariant

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// TestPooledBlocksByAddress: whatever the order of the segments.
func TestPooledBlocksByAddress(t *testing.T) {
	id := spec.PoolID{User: 1}
	s := &spec.Snapshot{Segments: []spec.Segment{
		{Pool: id, Blocks: []spec.Block{{Address: 0x5000}, {Address: 0x6000}}},
		{Pool: id, Device: 1, Blocks: []spec.Block{{Address: 0x1000}}},
		{Blocks: []spec.Block{{Address: 0x2000}}},
		{Pool: id, Blocks: []spec.Block{{Address: 0x3000}}},
	}}
	blocks := pooledBlocks(s, 0, id)
	if len(blocks) != 3 || blocks[0].Address != 0x3000 || blocks[1].Address != 0x5000 || blocks[2].Address != 0x6000 {
		t.Errorf("%+v", blocks)
	}
}

// fails is an Inspector that fails.
type fails struct{ err error }

func (f fails) Inspect(spec.Device, spec.Visitor) error { return f.err }

// failsLater is an Inspector that shows a block that is on no list, with events that it does not
// show, and fails when it is asked again.
type failsLater struct {
	err   error
	block spec.BlockView
	asked int
}

func (f *failsLater) Inspect(_ spec.Device, v spec.Visitor) error {
	if f.asked++; f.asked > 1 {
		return f.err
	}
	v.Block(&f.block)
	return nil
}

// TestEmptyBlockInUse: a block without bytes that is in use breaks two rules, for its size and for
// the request.
func TestEmptyBlockInUse(t *testing.T) {
	w := blockWalk{}
	r := &violationReport{}
	w.start(spec.DefaultGeometry(), 0, r)
	w.block(&spec.BlockView{Address: 2 << 20, First: true, Mapped: true, Allocated: true})
	var broken []int
	for _, v := range r.list() {
		broken = append(broken, v.Number)
	}
	if !slices.Equal(broken, []int{sizesAndAlignment, requestsFit}) {
		t.Errorf("%v", r.found)
	}
}

// TestLastAllocation: a single allocation without a block, and a single block that nobody has, are
// violations.
func TestLastAllocation(t *testing.T) {
	block := spec.Snapshot{Segments: []spec.Segment{{Address: 1 << 20, TotalSize: 512, Blocks: []spec.Block{{Address: 1 << 20, Size: 512, State: spec.ActiveAllocated}}}}}
	live := History{live: []allocation{{Allocation: Allocation{Ptr: 1 << 20, Bytes: 512}}}}
	for _, test := range []struct {
		history *History
		shot    *spec.Snapshot
		want    int
	}{{&live, &spec.Snapshot{}, 1}, {&History{}, &block, 1}, {&live, &block, 0}} {
		var r violationReport
		test.history.checkAllocated(test.shot, &r)
		if len(r.found) != test.want {
			t.Errorf("%v, want %d", r.found, test.want)
		}
	}
}

// TestAllocatedBlocksByAddress: whatever the order of the segments.
func TestAllocatedBlocksByAddress(t *testing.T) {
	s := &spec.Snapshot{Segments: []spec.Segment{
		{Address: 2 << 20, Blocks: []spec.Block{{Address: 2 << 20, Size: 512, State: spec.ActiveAllocated}}},
		{Address: 1 << 20, Blocks: []spec.Block{{Address: 1 << 20, Size: 512, State: spec.ActiveAllocated}}},
	}}
	blocks := allocatedBlocks(s)
	if len(blocks) != 2 || blocks[0].address != 1<<20 || blocks[1].address != 2<<20 {
		t.Errorf("the blocks are %v", blocks)
	}
}
