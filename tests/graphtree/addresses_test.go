package graphtree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/graphtree"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// TestSetBackForgets: what is recorded below a node after the pool was set back to it
// lies where it would lie had nothing happened since the node was recorded. Two
// programs warm the same functions up and record the first one. Then one records
// the last below it at once; the other one first records those between, takes a new
// step, and launches the first again.
func TestSetBackForgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		straight := newProgram(t)
		var functions []*function
		for range 3 {
			f := straight.newFunction(t)
			f.inputs, f.static, f.Static, f.results = 0, nil, nil, []trace.TreeResult{{Kind: trace.ResultNew, Index: 0}}
			functions = append(functions, f)
		}
		first, between, last := functions[0], functions[1], functions[2]
		roundabout := newProgram(t)

		for _, p := range []*program{straight, roundabout} {
			p.run(t, first, between, last)
			p.generations.MarkStep()
		}
		straight.run(t, first)
		want := straight.run(t, last)

		roundabout.run(t, first, between)
		roundabout.generations.MarkStep()
		roundabout.run(t, first)
		segments := roundabout.segments(t)
		got := roundabout.run(t, last)
		if s := roundabout.manager.Status(); s.State != graphtree.Recording || s.Checkpoints != 1 {
			t.Fatalf("the pool was not set back for a recording: %+v", s)
		}
		if segments != straight.segments(t) {
			t.Skip("what was recorded between needed a segment of its own")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("recorded at once (-) and after a set-back (+):\n%s", diff)
		}
	})
}

// run calls functions one after the other, holding all outputs, and returns where
// those of the last one are: the segment of the pool, and the place in it.
func (p *program) run(t *rapid.T, functions ...*function) (places [][2]uint64) {
	for _, f := range functions {
		number, err := p.manager.Malloc(numberBytes)
		must(t, err)
		outputs, err := p.manager.Call(f.Function, number)
		must(t, err)
		snapshot, err := p.allocator.SnapshotPool(pool)
		must(t, err)
		places = nil
		for _, o := range outputs {
			r, err := o.Range()
			must(t, err)
			for i, g := range snapshot.Segments {
				if g.Address <= r.Ptr && r.Ptr < g.Address+spec.Ptr(g.TotalSize) {
					places = append(places, [2]uint64{uint64(i), uint64(r.Ptr - g.Address)})
				}
			}
		}
	}
	return places
}

// segments is how many segments the pool has.
func (p *program) segments(t *rapid.T) int {
	snapshot, err := p.allocator.SnapshotPool(pool)
	must(t, err)
	return len(snapshot.Segments)
}
