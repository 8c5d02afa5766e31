package explore

import (
	"slices"
)

// Liveness.
//
// LeadsTo means: whenever From is true, To is true then or later. The graph is finite. So
// a run that breaks the property has a suffix that begins in a state with From, has no
// state with To, and in the end stays in one strongly connected component, or in one
// state.
//
// Only fair runs count: a device on which no work ever completes is excluded. An action is
// weakly fair if it is taken whenever it stays enabled. A run that stays in a component is
// fair to an action if it visits a state in which the action is not enabled, or takes the
// action. A run can visit all states of its component, so it is enough to test whole
// components. As in TLA+, only steps that change the state count as the action.

// LeadsTo is a property of all endless runs.
type LeadsTo[S any] struct {
	Name     string
	From, To func(s S) bool
	// Fair lists the weakly fair actions, each as its labels.
	Fair [][]int
}

// A mark says which of From and To hold in a state.
type mark uint8

const (
	fromHolds mark = 1 << iota
	toHolds
)

func (p *LeadsTo[S]) mark(s S) (m mark) {
	if p.From(s) {
		m |= fromHolds
	}
	if p.To(s) {
		m |= toHolds
	}
	return m
}

// checkLiveness searches for a fair run that breaks a LeadsTo.
func (e *exploration[S]) checkLiveness() (*Violation[S], error) {
	for i := range e.options.LeadsTo {
		p := &e.options.LeadsTo[i]
		a := newLassoSearch(&e.graph, e.marks[i], p.Fair)
		if start, components, found := a.find(); found {
			return e.violationLoop(p.Name, a.lasso(start, components))
		}
	}
	return nil, nil
}

// lassoSearch is the search for a fair run without To: a path and a loop.
type lassoSearch struct {
	graph *Graph
	marks []mark
	fair  [][]int

	index   []int // by state: Tarjan's index, from 1
	low     []int
	onStack []bool
	stack   []int
}

func newLassoSearch(g *Graph, marks []mark, fair [][]int) *lassoSearch {
	n := g.States()
	return &lassoSearch{
		graph: g, marks: marks, fair: fair,
		index: make([]int, n), low: make([]int, n), onStack: make([]bool, n),
	}
}

// find is the first state with From from which fair components can be reached, and these
// components.
func (a *lassoSearch) find() (start int, components [][]int, found bool) {
	clock := 0
	for s := range a.marks {
		if a.marks[s] != fromHolds || a.index[s] > 0 {
			continue
		}
		if components := a.search(s, &clock); len(components) > 0 {
			return s, components, true
		}
	}
	return 0, nil, false
}

// A frame is a state on the search path, and its next edge.
type frame struct{ state, next int }

// search is Tarjan's algorithm from one state, without recursion. It lists the fair
// components.
func (a *lassoSearch) search(root int, clock *int) (fair [][]int) {
	frames := []frame{a.enter(root, clock)}
	for len(frames) > 0 {
		f := &frames[len(frames)-1]
		edges := a.graph.From(f.state)
		if f.next < len(edges) {
			to := int(edges[f.next].To)
			f.next++
			switch {
			case a.marks[to]&toHolds != 0:
			case a.index[to] == 0:
				frames = append(frames, a.enter(to, clock))
			case a.onStack[to]:
				a.low[f.state] = min(a.low[f.state], a.index[to])
			}
			continue
		}
		state := f.state
		frames = frames[:len(frames)-1]
		if len(frames) > 0 {
			parent := frames[len(frames)-1].state
			a.low[parent] = min(a.low[parent], a.low[state])
		}
		if a.low[state] == a.index[state] {
			if component := a.leave(state); a.isFair(component) {
				fair = append(fair, component)
			}
		}
	}
	return fair
}

func (a *lassoSearch) enter(state int, clock *int) frame {
	*clock++
	a.index[state], a.low[state] = *clock, *clock
	a.onStack[state] = true
	a.stack = append(a.stack, state)
	return frame{state: state}
}

// leave pops a component.
func (a *lassoSearch) leave(root int) []int {
	at := slices.Index(a.stack, root)
	component := slices.Clone(a.stack[at:])
	a.stack = a.stack[:at]
	for _, s := range component {
		a.onStack[s] = false
	}
	return component
}

// isFair: for each fair action there is a state in which it is not enabled, or a step of
// it that stays in the component.
func (a *lassoSearch) isFair(component []int) bool {
	inside := membership(component)
	for _, action := range a.fair {
		if _, _, fair := a.witness(component, inside, action); !fair {
			return false
		}
	}
	return true
}

func membership(component []int) map[int]bool {
	inside := make(map[int]bool, len(component))
	for _, s := range component {
		inside[s] = true
	}
	return inside
}

// witness shows that a component is fair to an action: a step in the component, or a
// state in which the action is not enabled.
func (a *lassoSearch) witness(component []int, inside map[int]bool, action []int) (state int, step *Edge, found bool) {
	for _, s := range component {
		enabled := false
		edges := a.graph.From(s)
		for i, edge := range edges {
			if int(edge.To) == s || !slices.Contains(action, int(edge.Label)) {
				continue
			}
			if enabled = true; inside[int(edge.To)] {
				return s, &edges[i], true
			}
		}
		if !enabled {
			return s, nil, true
		}
	}
	return 0, nil, false
}

// lasso is a path from a state to the nearest of some components, and a loop in it that
// has a witness for each fair action.
func (a *lassoSearch) lasso(start int, components [][]int) (w lasso) {
	of := map[int]int{} // by state: the index of its component
	for i, component := range components {
		slices.Sort(component)
		for _, s := range component {
			of[s] = i
		}
	}
	w.from = start
	at := start
	to := func(goal func(int) bool, within func(int) bool) {
		path := a.path(at, goal, within)
		w.edges = append(w.edges, path...)
		if len(path) > 0 {
			at = int(path[len(path)-1].To)
		}
	}
	avoids := func(s int) bool { return a.marks[s]&toHolds == 0 }
	to(func(s int) bool { _, is := of[s]; return is }, avoids)
	w.loop = len(w.edges)
	entry, component := at, components[of[at]]
	inside := membership(component)
	stays := func(s int) bool { return inside[s] }
	for _, action := range a.fair {
		state, step, _ := a.witness(component, inside, action)
		to(func(s int) bool { return s == state }, stays)
		if step != nil {
			w.edges = append(w.edges, *step)
			at = int(step.To)
		}
	}
	to(func(s int) bool { return s == entry }, stays)
	return w
}

// A lasso is edges in the graph; those from index loop on are the loop.
type lasso struct {
	from  int
	edges []Edge
	loop  int
}

// path is a shortest path from a state to a goal.
func (a *lassoSearch) path(from int, goal, within func(int) bool) []Edge {
	type arrival struct {
		from int
		edge Edge
	}
	if goal(from) {
		return nil
	}
	came := map[int]arrival{from: {}}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, edge := range a.graph.From(queue[0]) {
			to := int(edge.To)
			if _, known := came[to]; known || !within(to) {
				continue
			}
			came[to] = arrival{queue[0], edge}
			if !goal(to) {
				queue = append(queue, to)
				continue
			}
			var path []Edge
			for ; to != from; to = came[to].from {
				path = append(path, came[to].edge)
			}
			slices.Reverse(path)
			return path
		}
	}
	panic("explore: no path within a component")
}

// violationLoop is a shortest path to the lasso's first state, and the lasso.
func (e *exploration[S]) violationLoop(property string, w lasso) (*Violation[S], error) {
	trace, err := e.trace(w.from)
	if err != nil {
		return nil, err
	}
	before := len(trace) - 1
	for _, edge := range w.edges {
		step, isFound := e.step(trace[len(trace)-1].State, func(_, label int, next S) bool {
			return edge == Edge{uint32(label), uint32(e.numberOf(next))}
		})
		if !isFound {
			return nil, e.leadsElsewhere(w.from)
		}
		trace = append(trace, step)
	}
	return &Violation[S]{Property: property, Trace: trace, Loop: before + w.loop}, nil
}
