package edges

import (
	"slices"
	"testing"

	"gaugeblock/model/bounded"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestCaptures: the stream of a routing is captured, once, until its last routing ends. Work that
// it gets meanwhile comes behind that, unless it is complete.
func TestCaptures(t *testing.T) {
	begin := func(pool uint64, stream int) trace.Op {
		return trace.Op{Kind: trace.OpPoolBegin, Pool: bounded.PoolID(pool), Stream: stream}
	}
	end := func(pool uint64) trace.Op { return trace.Op{Kind: trace.OpPoolEnd, Pool: bounded.PoolID(pool)} }
	work := func(holder, stream int) []trace.Op {
		return []trace.Op{{Kind: trace.OpBusy, Stream: holder}, {Kind: trace.OpWaitStream, Stream: stream, On: holder}}
	}
	drain := func(holder int) trace.Op { return trace.Op{Kind: trace.OpDrain, Stream: holder} }
	walk := slices.Concat([]trace.Op{begin(1, 1), begin(2, 1)}, work(3, 1), work(4, 2), work(5, 1), []trace.Op{drain(3), drain(4), end(1), end(2), drain(5)})

	free := (&Scale{}).NewCaptures()
	free.Add(walk)
	if !slices.EqualFunc(free.Ops, walk, same) {
		t.Errorf("nothing is forbidden, and the walk is %v", kinds(free.Ops))
	}
	for mode, s := range map[spec.CaptureMode]Scale{spec.CaptureGlobal: {Forbids: true}, spec.CaptureRelaxed: {Marks: true}} {
		c := s.NewCaptures()
		c.Add(walk)
		want := slices.Concat(
			[]trace.Op{{Kind: trace.OpCaptureBegin, Stream: 1, Mode: mode}, begin(1, 1), begin(2, 1)}, work(4, 2), []trace.Op{drain(4), end(1), end(2)},
			[]trace.Op{{Kind: trace.OpCaptureEnd, Stream: 1, Graph: 1}, {Kind: trace.OpGraphDestroy, Graph: 1}}, work(5, 1), []trace.Op{drain(5)},
		)
		if !slices.EqualFunc(c.Ops, want, same) {
			t.Errorf("%s: the walk is %v, not %v", mode, kinds(c.Ops), kinds(want))
		}
	}
}

func same(a, b trace.Op) bool {
	return a.Kind == b.Kind && a.Pool == b.Pool && a.Stream == b.Stream && a.On == b.On && a.Graph == b.Graph && a.Mode == b.Mode
}

func kinds(ops []trace.Op) (names []trace.OpKind) {
	for _, op := range ops {
		names = append(names, op.Kind)
	}
	return names
}
