package edges

import (
	"slices"

	"gaugeblock/model/explore"
)

// A Planner plans walks that together take every edge of a graph. Every walk begins in state 0.
// It goes on along edges that no walk has taken, and where there is none along a shortest
// path to the next.
//
// A walk need not be performed to its end: then Resume says how far it got. An edge at which
// that happened often is avoided.
type Planner struct {
	graph *explore.Graph
	first []int  // by state: the number of its first edge
	taken []bool // by edge
	left  []int  // by state: how many of its edges are not taken
	ended []int8 // by edge: how many walks have ended at it

	Taken int // edges
	Edges int // all of them

	search int // the number of the present search
	came   []arrival
	queue  []int
}

// A Step is an edge of a walk.
type Step struct {
	From, To int
	Label    uint32
	edge     int
	New      bool // no walk has taken it before
}

// arrival is the step by which a search first reached a state.
type arrival struct {
	search int
	by     Step
}

// endings is how many walks may end at an edge before it is avoided.
const endings = 3

// NewPlanner makes a planner that has planned nothing.
func NewPlanner(g *explore.Graph) *Planner {
	p := &Planner{graph: g, came: make([]arrival, g.States())}
	for at := range g.States() {
		p.first = append(p.first, p.Edges)
		p.left = append(p.left, len(g.From(at)))
		p.Edges += len(g.From(at))
	}
	p.taken, p.ended = make([]bool, p.Edges), make([]int8, p.Edges)
	return p
}

// Walk is the next walk, of about so many steps. It is empty if no edge is left that can be
// reached.
func (p *Planner) Walk(length int) (walk []Step) {
	at := 0
	for len(walk) < length {
		path := p.toNew(at)
		if len(path) == 0 {
			break
		}
		walk = append(walk, path...)
		at = walk[len(walk)-1].To
	}
	return walk
}

// toNew is a shortest path that ends with an edge that was not taken, which is then taken.
func (p *Planner) toNew(from int) (path []Step) {
	p.search++
	p.came[from].search = p.search
	p.queue = append(p.queue[:0], from)
	for head := 0; head < len(p.queue); head++ {
		at := p.queue[head]
		if step, found := p.untaken(at); found {
			step.New = true
			p.take(step.edge, at)
			for path = append(path, step); at != from; at = p.came[at].by.From {
				path = append(path, p.came[at].by)
			}
			slices.Reverse(path)
			return path
		}
		for i, e := range p.graph.From(at) {
			to, edge := int(e.To), p.first[at]+i
			if p.came[to].search != p.search && p.ended[edge] < endings {
				p.came[to] = arrival{p.search, Step{From: at, To: to, Label: e.Label, edge: edge}}
				p.queue = append(p.queue, to)
			}
		}
	}
	return nil
}

// untaken is an edge of a state that was not taken: first those that lead to a state with
// more of them.
func (p *Planner) untaken(at int) (step Step, found bool) {
	if p.left[at] == 0 {
		return Step{}, false
	}
	for i, e := range p.graph.From(at) {
		edge := p.first[at] + i
		if p.taken[edge] {
			continue
		}
		if !found || p.left[e.To] > 0 {
			step, found = Step{From: at, To: int(e.To), Label: e.Label, edge: edge}, true
		}
		if p.left[e.To] > 0 {
			break
		}
	}
	return step, found
}

func (p *Planner) take(edge, of int) {
	p.taken[edge] = true
	p.left[of]--
	p.Taken++
}

// Resume says that a walk ended with so many steps, at the last of which something differed. What
// it would have taken after that is left to other walks.
func (p *Planner) Resume(walk []Step, performed int) {
	if performed == 0 {
		return
	}
	if last := walk[performed-1].edge; p.ended[last] < endings {
		p.ended[last]++
	}
	for _, step := range walk[performed:] {
		if step.New && p.taken[step.edge] {
			p.taken[step.edge] = false
			p.left[step.From]++
			p.Taken--
		}
	}
}
