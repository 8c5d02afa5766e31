package edges

import (
	"slices"

	"gaugeblock/model/explore"
)

// A Planner plans walks that together take every edge of a graph. A walk begins in state 0 and goes
// to a state with edges that no walk has taken. From there it goes on along such edges, and
// where there is none along a shortest path to the next, if one is near.
//
// A walk need not be performed to its end: then Resume says how far it got. An edge at which walks
// have ended is avoided on the way to others.
type Planner struct {
	graph *explore.Graph
	first []int  // by state: the number of its first edge
	taken []bool // by edge
	left  []int  // by state: how many of its edges are not taken
	tries []int8 // by state: how many walks have gone to it first
	ended []int8 // by edge: how many walks have ended at it
	next  int    // no state from here on has edges that are not taken and can be tried

	Taken int // edges
	Edges int // all of them

	tree   []Step // by state: the step by which it is first reached from state 0
	stale  bool   // the tree has edges that are avoided
	search int    // the number of the present search
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

const (
	// mostTries is how many walks go to one state first. More would be in vain.
	mostTries = 30
	// mostEnds is how many walks may end at an edge before it is avoided.
	mostEnds = 2
	// near is how many states are searched for an edge that was not taken.
	near = 300
)

// NewPlanner makes a planner that has planned nothing.
func NewPlanner(g *explore.Graph) *Planner {
	p := &Planner{graph: g, came: make([]arrival, g.States()), tries: make([]int8, g.States()), next: g.States()}
	for at := range g.States() {
		p.first = append(p.first, p.Edges)
		p.left = append(p.left, len(g.From(at)))
		p.Edges += len(g.From(at))
	}
	p.taken, p.ended, p.tree = make([]bool, p.Edges), make([]int8, p.Edges), make([]Step, g.States())
	p.grow()
	return p
}

// grow grows the tree, without edges that are avoided. A state that cannot be reached so keeps its
// step.
func (p *Planner) grow() {
	p.stale = false
	p.search++
	p.came[0].search = p.search
	p.queue = append(p.queue[:0], 0)
	for head := 0; head < len(p.queue); head++ {
		at := p.queue[head]
		for i, e := range p.graph.From(at) {
			to, edge := int(e.To), p.first[at]+i
			if p.came[to].search != p.search && p.ended[edge] < mostEnds {
				p.came[to].search = p.search
				p.tree[to] = Step{From: at, To: to, Label: e.Label, edge: edge}
				p.queue = append(p.queue, to)
			}
		}
	}
}

// Walk is the next walk, of about so many steps, but at least one that was not taken. It is empty
// if there is none left.
func (p *Planner) Walk(length int) (walk []Step) {
	for ; p.next > 0; p.next-- {
		if at := p.next - 1; p.left[at] > 0 && p.tries[at] < mostTries {
			break
		}
	}
	if p.next == 0 {
		return nil
	}
	if p.stale {
		p.grow()
	}
	at := p.next - 1
	p.tries[at]++
	for s := at; s != 0; s = p.tree[s].From {
		step := p.tree[s]
		if !p.taken[step.edge] {
			step.New = true
			p.take(step.edge, step.From)
		}
		walk = append(walk, step)
	}
	slices.Reverse(walk)
	for path := p.toNew(at); len(path) > 0; path = p.toNew(at) {
		walk = append(walk, path...)
		if len(walk) >= length {
			break
		}
		at = walk[len(walk)-1].To
	}
	return walk
}

// toNew is a shortest path that ends with an edge that was not taken, which is then taken;
// empty if there is none near.
func (p *Planner) toNew(from int) (path []Step) {
	p.search++
	p.came[from].search = p.search
	p.queue = append(p.queue[:0], from)
	for head := 0; head < min(len(p.queue), near); head++ {
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
			if p.came[to].search != p.search && p.ended[edge] < mostEnds {
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

// Resume says that a walk ended after so many steps. What it would have taken after that is left
// to other walks.
func (p *Planner) Resume(walk []Step, performed int) {
	if last := walk[performed-1].edge; p.ended[last] < mostEnds {
		p.ended[last]++
		p.stale = p.stale || p.ended[last] == mostEnds
	}
	for _, step := range walk[performed:] {
		if step.New && p.taken[step.edge] {
			p.taken[step.edge] = false
			p.left[step.From]++
			p.Taken--
			if p.next <= step.From {
				p.next = step.From + 1
			}
		}
	}
}
