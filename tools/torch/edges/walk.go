package edges

import (
	"math"
	"slices"

	"gaugeblock/model/explore"
)

// A Planner plans walks that together take every edge of a graph. A walk begins in state 0 and goes
// to a state with edges that no walk has taken. From there it goes on along such edges, and
// where there is none along a shortest path to the next, if one is near.
//
// A walk need not be performed to its end: then Resume says how far it got. An edge at which walks
// have ended is avoided on the way to others. If nothing else is left, such edges are tried more
// often, after other ways (Patience).
type Planner struct {
	graph  *explore.Graph
	final  []bool         // by label: the step ends a walk, whatever comes of it
	first  []int          // by state: the number of its first edge
	taken  []bool         // by edge
	passed []bool         // by edge: a walk has gone on behind it
	left   []int          // by state: how many of its edges are not taken
	tries  []uint8        // by state: how many walks have gone to it first, by the present tree
	ended  []uint16       // by edge: how many walks have ended at it
	why    map[int]string // by edge: why the last walk ended at it
	missed []missed       // by state
	next   int            // no state from here on has edges that are not taken and can be tried

	Taken int // edges
	Edges int // all of them

	// Patience is how many walks may end at an edge before it is avoided.
	Patience int

	tree      []Step // by state: the step by which it is first reached from state 0
	before    int    // how many edges were taken when the tree was grown
	avoided   int    // edges that are avoided since then
	trees     int    // how many were grown: each prefers other ways
	fruitless int    // how many of the last ones led to nothing new
	search    int    // the number of the present search
	came      []arrival
	queue     []int
}

// A Step is an edge of a walk.
type Step struct {
	From, To int
	Label    uint32
	edge     int
	New      bool // no walk has taken it before
}

// missed says how many walks that went to a state for edges that were not taken have ended before it, since a walk has
// last passed it, and why.
type missed struct {
	walks int
	why   []string
}

// arrival is the step by which a search first reached a state.
type arrival struct {
	search int
	by     Step
}

const (
	// mostTries is how many walks go to one state first, by one tree.
	mostTries = 3
	// mostFruitless is how many trees may lead to nothing new before the patience is over.
	mostFruitless = 3
	// leastPatience is the first patience, and mostPatience the last.
	leastPatience, mostPatience = 2, 16
	// passedBefore is how much more often a walk may end at an edge that others have passed.
	passedBefore = 64
	// near is how many states are searched for an edge that was not taken.
	near = 300
)

// NewPlanner makes a planner that has planned nothing. final says by label which steps end a walk,
// whatever comes of them.
func NewPlanner(g *explore.Graph, final []bool) *Planner {
	p := &Planner{graph: g, final: final, came: make([]arrival, g.States()), tries: make([]uint8, g.States()), next: g.States(), Patience: leastPatience}
	for at := range g.States() {
		p.first = append(p.first, p.Edges)
		p.left = append(p.left, len(g.From(at)))
		p.Edges += len(g.From(at))
	}
	p.taken, p.passed, p.ended, p.tree = make([]bool, p.Edges), make([]bool, p.Edges), make([]uint16, p.Edges), make([]Step, g.States())
	p.why, p.missed = map[int]string{}, make([]missed, g.States())
	p.grow()
	return p
}

// avoids reports whether too many walks have ended at an edge, or all do.
func (p *Planner) avoids(edge int, label uint32) bool {
	if p.isFinal(label) {
		return true
	}
	most := p.Patience
	if p.passed[edge] {
		most *= passedBefore
	}
	return int(p.ended[edge]) >= most
}

func (p *Planner) isFinal(label uint32) bool { return p.final[label] }

// grow grows the tree, without edges that are avoided. A state that cannot be reached so is not in
// it.
func (p *Planner) grow() {
	p.before, p.avoided = p.Taken, 0
	clear(p.tries)
	p.search++
	p.next = p.graph.States()
	p.reach(0, Step{})
	p.queue = append(p.queue[:0], 0)
	for head := 0; head < len(p.queue); head++ {
		at := p.queue[head]
		edges := p.graph.From(at)
		for i := range edges {
			i = (i + p.trees) % len(edges)
			to, edge := int(edges[i].To), p.first[at]+i
			if p.came[to].search != p.search && !p.avoids(edge, edges[i].Label) {
				p.reach(to, Step{From: at, To: to, Label: edges[i].Label, edge: edge})
				p.queue = append(p.queue, to)
			}
		}
	}
	for at := range p.tree {
		if p.came[at].search != p.search {
			p.tree[at].To = -1
		}
	}
	p.trees++
}

func (p *Planner) reach(state int, by Step) {
	p.came[state].search = p.search
	p.tree[state] = by
}

// way is how the tree goes to a state; none if it has an edge that is avoided now, or cannot go
// there.
func (p *Planner) way(to int) (walk []Step, found bool) {
	for s := to; s != 0; s = p.tree[s].From {
		if p.tree[s].To < 0 || p.avoids(p.tree[s].edge, p.tree[s].Label) {
			return nil, false
		}
		walk = append(walk, p.tree[s])
	}
	slices.Reverse(walk)
	return walk, true
}

// Walk is the next walk, of about the given length, but at least one that was not taken. It is
// empty if there is none left with the present patience.
func (p *Planner) Walk(length int) (walk []Step) {
	walk, at := p.begin()
	if at < 0 {
		return nil
	}
	for i := range walk {
		if step := &walk[i]; !p.taken[step.edge] {
			step.New = true
			p.take(step.edge, step.From)
		}
	}
	for path := p.toNew(at); len(path) > 0; path = p.toNew(at) {
		walk = append(walk, path...)
		if len(walk) >= length || p.isFinal(walk[len(walk)-1].Label) {
			break
		}
		at = walk[len(walk)-1].To
	}
	return walk
}

// begin is the beginning of a walk, which goes to a state with edges that are not taken; -1 if
// there is no such state that can be reached.
func (p *Planner) begin() (walk []Step, at int) {
	for {
		for ; p.next > 0; p.next-- {
			at := p.next - 1
			if p.left[at] == 0 || p.tries[at] == mostTries {
				continue
			}
			if walk, found := p.way(at); found {
				p.tries[at]++
				return walk, at
			}
		}
		if p.Taken == p.Edges {
			return nil, -1
		}
		if p.Taken > p.before || p.avoided > 0 {
			p.fruitless = 0
		} else if p.fruitless++; p.fruitless > mostFruitless {
			return nil, -1
		}
		p.grow()
	}
}

// Retry makes the planner try more often what is left; false if that would be in vain.
func (p *Planner) Retry() bool {
	if p.Taken == p.Edges || p.Patience >= mostPatience {
		return false
	}
	p.Patience *= 2
	p.fruitless = 0
	p.grow()
	return true
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
			if p.came[to].search != p.search && !p.avoids(edge, e.Label) {
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

// Passed says that walks have gone on behind the first steps of a walk.
func (p *Planner) Passed(walk []Step, steps int) {
	for _, step := range walk[:steps] {
		p.passed[step.edge] = true
		p.missed[step.From] = missed{}
	}
}

// Resume says after how many steps a walk ended, and why. What it would have taken after that is
// left to other walks.
func (p *Planner) Resume(walk []Step, performed int, why string) {
	last := walk[performed-1].edge
	p.why[last] = why
	if p.ended[last] < math.MaxUint16 {
		p.ended[last]++
		if p.avoids(last, walk[performed-1].Label) {
			p.avoided++
		}
	}
	rest := walk[performed:]
	if at := slices.IndexFunc(rest, func(s Step) bool { return s.New }); at >= 0 {
		p.missed[rest[at].From].add(why)
	}
	for _, step := range rest {
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

func (m *missed) add(why string) {
	if m.walks++; !slices.Contains(m.why, why) {
		m.why = append(m.why, why)
	}
}
