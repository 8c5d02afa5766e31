package explore_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "gaugeblock/internal/gcpercent"
	"gaugeblock/model/explore"
)

// A graph is a specification that lists its steps. States are numbers.
type graph struct {
	initial []int
	labels  int
	steps   map[int][]step
}

type step struct{ label, to int }

func (g graph) Labels() (names []string) {
	for i := range g.labels {
		names = append(names, fmt.Sprintf("Label(%d)", i))
	}
	return names
}
func (g graph) Initial() []int { return g.initial }
func (g graph) Next(s int, yield func(int, int)) {
	for _, t := range g.steps[s] {
		yield(t.label, t.to)
	}
}
func (g graph) Key(to []byte, s int) []byte { return binary.BigEndian.AppendUint32(to, uint32(s)) }
func (g graph) Decoder() func([]byte) int {
	return func(key []byte) int { return int(binary.BigEndian.Uint32(key)) }
}

// drawGraph draws a random graph.
func drawGraph(t *rapid.T, states, steps int) graph {
	g := graph{labels: 3, steps: map[int][]step{}}
	state := rapid.IntRange(0, states-1)
	g.initial = rapid.SliceOfN(state, 1, 3).Draw(t, "initial")
	for range rapid.IntRange(0, steps).Draw(t, "steps") {
		from := state.Draw(t, "from")
		g.steps[from] = append(g.steps[from], step{rapid.IntRange(0, g.labels-1).Draw(t, "label"), state.Draw(t, "to")})
	}
	return g
}

// slowly explores a graph with a simple search.
func slowly(g graph) (r explore.Result[int], distance map[int]int) {
	distance = map[int]int{}
	edges := map[[3]int]bool{}
	var queue []int
	reach := func(s, d int) {
		r.Generated++
		if _, known := distance[s]; !known {
			distance[s] = d
			queue = append(queue, s)
			r.Depth = d + 1
		}
	}
	for _, s := range g.initial {
		reach(s, 0)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, t := range g.steps[queue[0]] {
			reach(t.to, distance[queue[0]]+1)
			edges[[3]int{queue[0], t.label, t.to}] = true
		}
	}
	r.States, r.Edges = len(distance), len(edges)
	return r, distance
}

func text(to []byte, s int) []byte { return fmt.Appendf(to, "s=%d", s) }

// TestCounts: for any graph, set and number of workers, the counts are those of a simple
// search, and everything else is always the same.
func TestCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 300, 600)
		want, _ := slowly(g)
		var first explore.Result[int]
		for i, o := range []explore.Options[int]{
			{Workers: 1}, {Workers: 2}, {Workers: 7}, {Workers: 2, Compact: true}, {},
		} {
			o.Text, o.Edges = text, true
			got := explore.Explore(g, o)
			if i == 0 {
				first = got
			}
			if d := cmp.Diff(first, got, cmp.AllowUnexported(explore.Graph{})); d != "" {
				t.Fatalf("%+v:\n%s", o, d)
			}
			got.Graph, got.StateDigest, got.EdgeDigest, got.StateSum, got.EdgeSum = nil, "", "", explore.Sum{}, explore.Sum{}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%+v:\n%s", o, d)
			}
		}
	})
}

// TestViolation: a broken property of a state or of a step is found, with a shortest
// counterexample, and the same one with any number of workers.
func TestViolation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 60, 120)
		_, distance := slowly(g)
		state, to := rapid.IntRange(0, 60).Draw(t, "state"), rapid.IntRange(0, 60).Draw(t, "to") // 60: none
		shortest := shortestFailure(g, distance, state, to)
		var first *explore.Violation[int]
		for workers := 1; workers < 4; workers++ {
			v := explore.Explore(g, explore.Options[int]{
				Workers:    workers,
				Invariants: []explore.Invariant[int]{{Name: "State", Holds: func(s int) bool { return s != state }}},
				Steps:      []explore.StepProperty[int]{{Name: "Step", Holds: func(from, _, next int) bool { return next != to || from == next }}},
			}).Violation
			if v == nil && shortest > 0 || v != nil && len(v.Trace) != shortest {
				t.Fatalf("found %v: the shortest counterexample has %d states", v, shortest)
			}
			if v == nil {
				return
			}
			checkTrace(t, g, v)
			if last := v.Trace[shortest-1].State; v.Property == "State" && last != state || v.Property == "Step" && last != to {
				t.Fatalf("%v ends at a state that breaks nothing", v)
			}
			if workers == 1 {
				first = v
			}
			if d := cmp.Diff(first, v); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// shortestFailure is the number of states of a shortest path to a state, or by a step to
// another state; 0 if there is none.
func shortestFailure(g graph, distance map[int]int, state, to int) (length int) {
	shorter := func(l int) {
		if length == 0 || l < length {
			length = l
		}
	}
	for s, d := range distance {
		if s == state {
			shorter(d + 1)
		}
		for _, next := range g.steps[s] {
			if next.to == to && s != to {
				shorter(d + 2)
			}
		}
	}
	return length
}

// checkTrace: each step is one of the graph.
func checkTrace(t *rapid.T, g graph, v *explore.Violation[int]) {
	for i := 1; i < len(v.Trace); i++ {
		if !g.has(v.Trace[i-1].State, v.Trace[i]) {
			t.Fatalf("%v: there is no step %d", v, i)
		}
	}
}

func (g graph) has(from int, to explore.Step[int]) bool {
	for _, s := range g.steps[from] {
		if s.to == to.State && g.Labels()[s.label] == to.Label {
			return true
		}
	}
	return false
}

// TestSymmetry: with symmetry the classes are counted. Here the states are pairs, and a
// pair is symmetric to its reverse.
func TestSymmetry(t *testing.T) {
	g := pairs{4}
	all := explore.Explore(g, explore.Options[[2]byte]{})
	classes := explore.Explore(g, explore.Options[[2]byte]{
		Symmetry: func(to []byte, s [2]byte) []byte { return append(to, min(s[0], s[1]), max(s[0], s[1])) },
	})
	if all.States != 5*5 || classes.States != 5*6/2 {
		t.Errorf("%d states in %d classes, not 25 in 15", all.States, classes.States)
	}
}

// pairs of counters, each from 0 to max.
type pairs struct{ max byte }

func (pairs) Labels() []string                { return []string{"Up(0)", "Up(1)"} }
func (pairs) Initial() [][2]byte              { return [][2]byte{{}} }
func (pairs) Key(to []byte, s [2]byte) []byte { return append(to, s[:]...) }
func (pairs) Decoder() func([]byte) [2]byte   { return func(key []byte) [2]byte { return [2]byte(key) } }
func (p pairs) Next(s [2]byte, yield func(int, [2]byte)) {
	for i := range s {
		if next := s; next[i] < p.max {
			next[i]++
			yield(i, next)
		}
	}
}

func ExampleExplore() {
	r := explore.Explore(pairs{3}, explore.Options[[2]byte]{
		Invariants: []explore.Invariant[[2]byte]{{Name: "Close", Holds: func(s [2]byte) bool { return s[0] < s[1]+2 }}},
	})
	for _, step := range r.Violation.Trace {
		fmt.Println(strings.TrimSpace(fmt.Sprint(step.State, " ", step.Label)))
	}
	// Output:
	// [0 0]
	// [1 0] Up(0)
	// [2 0] Up(0)
}
