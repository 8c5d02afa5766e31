package refinement

import (
	"slices"

	"gaugeblock/model/explore"
)

// Tour walks over every edge of a graph, from state 0 on, and calls take for each edge of
// the walk. It takes edges again on the way to edges that are new. If none of these can be
// reached it calls restart and continues from state 0. It ends when all edges were taken,
// or with the first error.
func Tour(g *explore.Graph, take func(from int, e explore.Edge, isNew bool) error, restart func() error) error {
	t := tour{graph: g, taken: make([]int, g.States()), seen: make([]uint32, g.States()), came: make([]arrival, g.States())}
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
		for i, e := range path {
			if err := take(at, e, i == len(path)-1); err != nil {
				return err
			}
			at = int(e.To)
		}
	}
}

// tour has the number of edges of each state that were taken: the first ones.
type tour struct {
	graph *explore.Graph
	taken []int

	search uint32    // the number of the present search
	seen   []uint32  // the last search that has reached a state
	came   []arrival // by which it did
	queue  []uint32
}

// arrival is an edge by which a search first reached a state.
type arrival struct {
	from uint32
	by   explore.Edge
}

// toNew is a shortest path that ends with an edge that was not taken.
func (t *tour) toNew(from int) (path []explore.Edge, ok bool) {
	t.search++
	t.seen[from] = t.search
	t.queue = append(t.queue[:0], uint32(from))
	for head := 0; head < len(t.queue); head++ {
		at := int(t.queue[head])
		edges := t.graph.From(at)
		if t.taken[at] < len(edges) {
			path = append(path, edges[t.taken[at]])
			t.taken[at]++
			for ; at != from; at = int(t.came[at].from) {
				path = append(path, t.came[at].by)
			}
			slices.Reverse(path)
			return path, true
		}
		for _, e := range edges {
			if t.seen[e.To] != t.search {
				t.seen[e.To] = t.search
				t.came[e.To] = arrival{uint32(at), e}
				t.queue = append(t.queue, e.To)
			}
		}
	}
	return nil, false
}
