package explore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/model/explore"
)

// TestKeptResults: all of a result, and what is told after each batch, stay as they were: of pairs, with symmetry and without,
// and of random graphs, some of which have loops that break a property.
//
//	go test ./model/explore -run TestKeptResults -rewrite-answers
func TestKeptResults(t *testing.T) {
	defer explore.SetBatch(3)()
	var out strings.Builder
	sorted := func(to []byte, s [2]byte) []byte { return append(to, min(s[0], s[1]), max(s[0], s[1])) }
	name := func(to []byte, s [2]byte) []byte { return fmt.Append(to, s) }
	apart := []explore.Invariant[[2]byte]{{Name: "Apart", Holds: func(s [2]byte) bool { return s != [2]byte{2, 1} }}}
	up := []explore.StepProperty[[2]byte]{{Name: "Up", Holds: func(from [2]byte, label int, to [2]byte) bool { return label == 0 || from[0] < 2 }}}
	for _, o := range []explore.Options[[2]byte]{
		{}, {Symmetry: sorted}, {Edges: true}, {Edges: true, Symmetry: sorted}, {Text: name}, {Text: name, Edges: true, Symmetry: sorted},
		{Invariants: apart}, {Steps: up}, {Invariants: apart, Steps: up, Compact: true}, {Invariants: apart, Text: name, Edges: true},
	} {
		for _, stopAfter := range []int{0, 2} {
			batches := 0
			o.Progress = func(r explore.Result[[2]byte]) {
				fmt.Fprintf(&out, "%d/%d/%d/%d ", r.States, r.Edges, r.Generated, r.Depth)
			}
			o.Stopped = func() bool { batches++; return batches == stopAfter }
			tell(&out, explore.Explore(pairs{3}, o))
		}
	}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 379))
		g := graph{initial: []int{r.IntN(6), r.IntN(6)}, labels: 3, steps: map[int][]step{}}
		for range r.IntN(16) {
			from := r.IntN(6)
			g.steps[from] = append(g.steps[from], step{r.IntN(3), r.IntN(6)})
		}
		from, to := r.IntN(6), r.IntN(6)
		tell(&out, explore.Explore(g, explore.Options[int]{Edges: seed%2 == 0, LeadsTo: []explore.LeadsTo[int]{
			{Name: "Never", From: func(int) bool { return false }, To: func(int) bool { return false }},
			{Name: "P", From: func(s int) bool { return s == from }, To: func(s int) bool { return s == to }, Fair: [][]int{{0}, {1, 2}}[:r.IntN(3)]},
		}}))
	}
	kept.Compare(t, "testdata/results.txt", out.String())
}

// tell writes a result on a line.
func tell[S any](out *strings.Builder, r explore.Result[S]) {
	if r.Violation != nil {
		fmt.Fprintf(out, "%+v ", *r.Violation)
	}
	for s := 0; r.Graph != nil && s < r.Graph.States(); s++ {
		fmt.Fprint(out, r.Graph.From(s))
	}
	r.Violation, r.Graph = nil, nil
	fmt.Fprintf(out, "%+v\n", r)
}
