package invariant

import (
	"errors"
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

// TestBreachesThatAreNotListed: how many violations the history has left out is told with those
// that it has.
func TestBreachesThatAreNotListed(t *testing.T) {
	h := NewHistory()
	for range 1000 {
		h.breaches.add(noReuseWhileInUse, 0, 0x1000, "too early")
	}
	r := &violationReport{}
	h.examine(&Observation{}, r)
	if len(r.found) == 0 || r.dropped[r.found[0].Number] != 1000-len(r.found) {
		t.Errorf("%d are listed, and %v left out", len(r.found), r.dropped)
	}
}

// TestLeftOutOfOne: violations that are all alike are one, with the number of those that are not
// listed.
func TestLeftOutOfOne(t *testing.T) {
	r := &violationReport{}
	for range maxViolations + 3 {
		r.add(noReuseWhileInUse, 0, 0x1000, "too early")
	}
	if list := r.list(); len(list) != 1 || list[0].Sentence != "too early (3 more like this are not listed)" {
		t.Errorf("%v", list)
	}
}

// TestWorkThatIsOverIsForgotten: freed memory is remembered as long as work may use it.
func TestWorkThatIsOverIsForgotten(t *testing.T) {
	h := NewHistory()
	use := func(at spec.Ptr) {
		h.Allocated(Allocation{Stream: 1, Ptr: at, Bytes: 512})
		h.StreamRecorded(at, 0, 2)
		h.Submitted(0, 2)
		h.Freed(at)
	}
	for i := range 100 {
		use(spec.Ptr(0x10000 + 0x1000*i))
	}
	if len(h.retired) != 100 {
		t.Errorf("%d pieces of memory are remembered that work uses, want 100", len(h.retired))
	}
	h.StreamSynchronized(0, 2)
	use(0x1000)
	if len(h.retired) != 1 {
		t.Errorf("%d pieces of memory are remembered that work uses, want one", len(h.retired))
	}
}

// TestSumsOfFreed: what all pools have freed is what small and large ones have, also when the
// statistics were reset.
func TestSumsOfFreed(t *testing.T) {
	r := &violationReport{}
	f := &statCheck{report: r}
	stat := func(freed int64) spec.Stat { return spec.Stat{Current: 5, Peak: 5, Allocated: freed, Freed: freed} }
	f.checkAggregate("x", &spec.StatArray{spec.Aggregate: {Current: 5, Peak: 5, Allocated: 7, Freed: 8}, spec.StatSmallPool: stat(3), spec.StatLargePool: {Allocated: 4, Freed: 4}})
	if len(r.found) != 1 || r.found[0].Sentence != "x.all.freed is 8, small pools have 3 and large pools 4" {
		t.Errorf("%+v", r.found)
	}
}

// fails is an Inspector that fails.
type fails struct{ err error }

func (f fails) Inspect(spec.Device, spec.Visitor) error { return f.err }

// TestExplanationFails: an error of the Inspector while lists are explained is returned.
func TestExplanationFails(t *testing.T) {
	cause := errors.New("cause")
	if err := explainLists(fails{cause}, 0, &violationReport{}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

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

// TestSecondLookFails: an error of the Inspector is the checker's also when it looks again to find
// out by which blocks lists or events differ. There is no verdict then.
func TestSecondLookFails(t *testing.T) {
	cause := errors.New("cause")
	block := spec.BlockView{
		Address: 2 << 20, Size: 2 << 20, First: true, Last: true, Mapped: true,
	}
	waits := block
	waits.EventCount, waits.RequestedSize = 1, 1
	for name, b := range map[string]spec.BlockView{"a free block": block, "events": waits} {
		in := &failsLater{err: cause, block: b}
		if violations, err := CheckInspector(0, in, spec.DefaultGeometry(), nil); !errors.Is(err, cause) || violations != nil || in.asked != 2 {
			t.Errorf("%s: %v, %v, asked %d times", name, violations, err, in.asked)
		}
	}
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
