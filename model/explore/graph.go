package explore

// A Graph is the states, by number, and the edges between them. States are numbered from
// 0, in the order in which they were found.
type Graph struct {
	edges []Edge
	ends  []int // by state: the end of its edges
}

// An Edge leads to a state by a label, both by number.
type Edge struct{ Label, To uint32 }

// States is the number of states.
func (g *Graph) States() int { return len(g.ends) }

// From lists the edges of a state in the order of Specification.Next.
func (g *Graph) From(state int) []Edge { return g.edges[g.begin(state):g.ends[state]] }

func (g *Graph) begin(state int) int {
	if state == 0 {
		return 0
	}
	return g.ends[state-1]
}

// endAll ends the edges of the states below a number.
func (g *Graph) endAll(before int) {
	for len(g.ends) < before {
		g.ends = append(g.ends, len(g.edges))
	}
}
