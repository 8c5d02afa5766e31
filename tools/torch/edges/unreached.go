package edges

import (
	"slices"
	"strings"
)

// An edge that is not taken begins in a state that no walk has reached: all ways to it have an edge
// at which walks end. Why they end there is why it is not taken. Whether a walk ends at an edge can depend on
// what it did before. So a state is also taken for one that is not reached if the last walks to it have all ended
// before it.

// Unreached counts the edges that are not taken by why: the reasons for which walks ended at the
// edges that lead from states that walks reach to those that they do not, or before a state that they went to. A state
// that only walks reach behind edges at which they mostly end is not reached. The reason is "" where there is none: a
// state is reached, and yet not all its edges are taken.
func (p *Planner) Unreached() map[string]int {
	reached := p.reachable()
	reasons, names := p.reasons(reached)
	count := map[string]int{}
	for at, left := range p.left {
		if left > 0 {
			count[inWords(reasons[at], names)] += left
		}
	}
	return count
}

// reachable says which states walks reach by edges that they do not avoid.
func (p *Planner) reachable() []bool {
	reached := make([]bool, p.graph.States())
	reached[0] = true
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for i, e := range p.graph.From(at) {
			if edge := p.first[at] + i; !reached[e.To] && p.passed[edge] && !p.avoids(edge, e.Label) {
				reached[e.To] = true
				queue = append(queue, int(e.To))
			}
		}
	}
	return reached
}

// reasons are those of each state that was not reached: a set of bits, with the names of the bits.
func (p *Planner) reasons(reached []bool) (sets []uint64, names []string) {
	name := func(why string) {
		if !slices.Contains(names, why) {
			names = append(names, why)
		}
	}
	for _, why := range p.why {
		name(why)
	}
	for _, m := range p.missed {
		for _, why := range m.why {
			name(why)
		}
	}
	slices.Sort(names)
	sets = make([]uint64, len(reached))
	var queue []int
	add := func(state int, set uint64) {
		if !reached[state] && sets[state]|set != sets[state] {
			sets[state] |= set
			queue = append(queue, state)
		}
	}
	for at, m := range p.missed {
		if p.inVain(at) {
			reached[at] = false
			for _, why := range m.why {
				add(at, 1<<slices.Index(names, why))
			}
		}
	}
	for at := range reached {
		for i, e := range p.graph.From(at) {
			if why, ended := p.why[p.first[at]+i]; ended && reached[at] {
				add(int(e.To), 1<<slices.Index(names, why))
			}
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, e := range p.graph.From(queue[0]) {
			add(int(e.To), sets[queue[0]])
		}
	}
	return sets, names
}

// inVain reports whether the last walks to a state, for edges that are not taken, have all ended before it.
func (p *Planner) inVain(state int) bool {
	return p.left[state] > 0 && p.missed[state].walks >= mostTries
}

func inWords(set uint64, names []string) string {
	var in []string
	for i, name := range names {
		if set&(1<<i) != 0 {
			in = append(in, name)
		}
	}
	return strings.Join(in, "; or ")
}
