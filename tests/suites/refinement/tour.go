package refinement

import (
	"slices"

	"gaugeblock/model/explore"
)

// Tour walks over every edge of a graph, from state 0 on, and calls take for each edge
// on its way; edges that have been taken before are taken again where nothing new is
// near. It goes on from where an edge leads. If what is left cannot be reached from
// where it is, it calls restart and goes on from state 0. It ends when all edges were
// taken, or with the first error.
func Tour(g *explore.Graph, take func(from int, e explore.Edge) error, restart func() error) error {
	t := tour{graph: g, taken: make([]int, g.States()), came: make([]arrival, g.States())}
	at := 0
	for {
		path, ok := t.toNew(at)
		if !ok && at == 0 {
			return nil
		}
		if !ok {
			at = 0
			if err := restart(); err != nil {
				return err
			}
			continue
		}
		for _, e := range path {
			if err := take(at, e); err != nil {
				return err
			}
			at = int(e.To)
		}
	}
}

// tour remembers how many edges of each state were taken: the first ones.
type tour struct {
	graph *explore.Graph
	taken []int

	search int // of the searches for a way, which one
	came   []arrival
	queue  []int
}

// arrival is how a search first came to a state.
type arrival struct {
	search int
	from   int
	by     explore.Edge
}

// toNew is the shortest way to a state with an edge that was not taken, and on over
// that edge.
func (t *tour) toNew(from int) (path []explore.Edge, ok bool) {
	t.search++
	t.came[from].search = t.search
	t.queue = append(t.queue[:0], from)
	for head := 0; head < len(t.queue); head++ {
		at := t.queue[head]
		edges := t.graph.From(at)
		if t.taken[at] < len(edges) {
			path = append(path, edges[t.taken[at]])
			t.taken[at]++
			for ; at != from; at = t.came[at].from {
				path = append(path, t.came[at].by)
			}
			slices.Reverse(path)
			return path, true
		}
		for _, e := range edges {
			if to := int(e.To); t.came[to].search != t.search {
				t.came[to] = arrival{t.search, at, e}
				t.queue = append(t.queue, to)
			}
		}
	}
	return nil, false
}
