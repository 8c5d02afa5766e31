package edges

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model/explore"
)

// graph is a specification that lists its steps: by state, where each label leads; -1: nowhere.
type graph [][]int

func (g graph) Labels() (names []string) {
	for i := range 4 {
		names = append(names, fmt.Sprintf("Label(%d)", i))
	}
	return names
}
func (g graph) Initial() []int { return []int{0} }
func (g graph) Next(s int, yield func(int, int)) {
	for label, to := range g[s] {
		if to >= 0 {
			yield(label, to)
		}
	}
}
func (g graph) Key(to []byte, s int) []byte { return binary.BigEndian.AppendUint32(to, uint32(s)) }
func (g graph) Decoder() func(key []byte) int {
	return func(key []byte) int { return int(binary.BigEndian.Uint32(key)) }
}

// drawGraph draws a graph of a bounded number of states, each of which has up to four steps.
func drawGraph(t *rapid.T, most int) graph {
	n := rapid.IntRange(1, most).Draw(t, "states")
	g := make(graph, n)
	for i := range g {
		g[i] = rapid.SliceOfN(rapid.IntRange(-1, n-1), 0, 4).Draw(t, "steps")
	}
	return g
}

// TestWalks: walks begin in state 0, every step of them is an edge from where the one before led,
// and together they take all edges, each new once, also if walks end early now and then.
func TestWalks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 30)
		explored := explore.Explore(g, explore.Options[int]{Edges: true})
		p := NewPlanner(explored.Graph, make([]bool, len(g.Labels())))
		taken := map[[3]int]bool{}
		ends := rapid.IntRange(0, mostPatience-1).Draw(t, "ends")
		for walk := p.Walk(5); len(walk) > 0 || p.Retry(); walk = p.Walk(5) {
			if len(walk) == 0 {
				continue
			}
			performed := len(walk)
			if ends > 0 {
				ends--
				performed = rapid.IntRange(1, len(walk)).Draw(t, "performed")
				p.Resume(walk, performed, "a difference")
			}
			at := 0
			for _, step := range walk[:performed] {
				if step.From != at {
					t.Fatalf("a step from %d in state %d", step.From, at)
				}
				edge := [3]int{step.From, int(step.Label), step.To}
				if step.New == taken[edge] {
					t.Fatalf("the step %v is new: %v", edge, step.New)
				}
				taken[edge] = true
				at = step.To
			}
		}
		if len(taken) != explored.Edges || p.Taken != explored.Edges {
			t.Fatalf("%d of %d edges are taken, %d counted", len(taken), explored.Edges, p.Taken)
		}
	})
}

// TestUnreached: walks always end at two edges. What lies behind one of them, behind the other, and
// behind both is counted apart; what can also be reached in another way is taken.
func TestUnreached(t *testing.T) {
	g := graph{
		0: {1, 2, 6},    // 0 to 1 ends walks, and so does 0 to 2
		1: {3, 4},       // behind the first
		2: {4, 5},       // behind the second
		4: {4},          // behind both
		5: {-1}, 6: {3}, // without an obstacle
		3: {0},
	}
	explored := explore.Explore(g, explore.Options[int]{Edges: true})
	p := NewPlanner(explored.Graph, make([]bool, len(g.Labels())))
	walks := 0
	for walk := p.Walk(5); len(walk) > 0 || p.Retry(); walk = p.Walk(5) {
		end := slices.IndexFunc(walk, func(step Step) bool { return step.From == 0 && step.Label < 2 })
		if end < 0 {
			p.Passed(walk, len(walk))
		} else {
			p.Passed(walk, end)
			p.Resume(walk, end+1, []string{"the first", "the second"}[walk[end].Label])
		}
		if walks++; walks > 1000 {
			t.Fatal("there is no end of it")
		}
	}
	want := map[string]int{"the first": 2, "the second": 2, "the first; or the second": 1}
	if got := p.Unreached(); !maps.Equal(got, want) {
		t.Errorf("edges that are not taken: %v, not %v", got, want)
	}
	if p.Taken+5 != explored.Edges {
		t.Errorf("%d of %d edges are taken", p.Taken, explored.Edges)
	}
}

// TestInVain: an edge that a walk has passed once ends all later ones. What lies behind it is then not taken for
// the reason for which they end.
func TestInVain(t *testing.T) {
	g := graph{0: {1}, 1: {2, 3}, 2: {-1}, 3: {-1}}
	explored := explore.Explore(g, explore.Options[int]{Edges: true})
	p := NewPlanner(explored.Graph, make([]bool, len(g.Labels())))
	walks := 0
	for walk := p.Walk(1); len(walk) > 0 || p.Retry(); walk = p.Walk(1) {
		if walks++; walks > 1000 {
			t.Fatal("there is no end of it")
		}
		if walks == 1 {
			p.Passed(walk, len(walk))
		} else if len(walk) > 0 {
			p.Resume(walk, 1, "an obstacle")
		}
	}
	if got := p.Unreached(); p.Taken != 2 || !maps.Equal(got, map[string]int{"an obstacle": 1}) {
		t.Errorf("%d of %d edges are taken, the others by why: %v", p.Taken, explored.Edges, got)
	}
}

// TestFinalSteps: no walk goes on behind a step that ends walks, and all edges are taken that can
// be reached without one.
func TestFinalSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 20)
		explored := explore.Explore(g, explore.Options[int]{Edges: true})
		final := []bool{false, false, false, true}
		p := NewPlanner(explored.Graph, final)
		for walk := p.Walk(5); len(walk) > 0 || p.Retry(); walk = p.Walk(5) {
			for i, step := range walk {
				if final[step.Label] && i < len(walk)-1 {
					t.Fatalf("the walk %v goes on behind step %d", walk, i)
				}
			}
		}
		reachable, taken := map[int]bool{0: true}, 0
		for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
			for _, e := range explored.Graph.From(queue[0]) {
				taken++
				if to := int(e.To); !final[e.Label] && !reachable[to] {
					reachable[to] = true
					queue = append(queue, to)
				}
			}
		}
		if p.Taken != taken {
			t.Fatalf("%d edges are taken, and not %d", p.Taken, taken)
		}
	})
}
