package explore_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/model/explore"
)

// TestLeadsTo compares the search with one that is too simple to be wrong: a fair run
// that avoids the goal exists if from some state, without the goal, a state can be
// reached that is on fair walks around: all states that can be reached from it, and
// that it can be reached from, are such a walk.
func TestLeadsTo(t *testing.T) {
	found, total := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t, 5, 14)
		from := rapid.IntRange(0, 4).Draw(t, "from")
		to := rapid.IntRange(0, 4).Draw(t, "to")
		fair := rapid.SliceOfN(rapid.SampledFrom([][]int{{0}, {1}, {2}, {0, 1}}), 0, 3).Draw(t, "fair")
		r := explore.Explore(g, explore.Options[int]{LeadsTo: []explore.LeadsTo[int]{{
			Name: "P", From: func(s int) bool { return s == from }, To: func(s int) bool { return s == to }, Fair: fair,
		}}})
		_, reachable := slowly(g)
		_, known := reachable[from]
		want := known && from != to && avoidable(g, from, to, fair)
		if (r.Violation != nil) != want {
			t.Fatalf("found %v, should find one: %v", r.Violation, want)
		}
		total++
		if want {
			found++
			checkTrace(t, g, r.Violation)
			checkLoop(t, g, r.Violation, from, to, fair)
		}
	})
	if found == 0 || found == total {
		t.Errorf("of %d properties %d are broken: that says nothing", total, found)
	}
}

// reach is what can be reached from a state without the goal.
func reach(g graph, from, goal int) map[int]bool {
	seen := map[int]bool{from: true}
	for queue := []int{from}; len(queue) > 0; queue = queue[1:] {
		for _, s := range g.steps[queue[0]] {
			if s.to != goal && !seen[s.to] {
				seen[s.to] = true
				queue = append(queue, s.to)
			}
		}
	}
	return seen
}

func avoidable(g graph, from, goal int, fair [][]int) bool {
	for s := range reach(g, from, goal) {
		around := map[int]bool{}
		for r := range reach(g, s, goal) {
			if reach(g, r, goal)[s] {
				around[r] = true
			}
		}
		if isFair(g, around, fair) {
			return true
		}
	}
	return false
}

func isFair(g graph, around map[int]bool, fair [][]int) bool {
	for _, action := range fair {
		ok := false
		for s := range around {
			possible := false
			for _, next := range g.steps[s] {
				if slices.Contains(action, next.label) && next.to != s {
					possible = true
					ok = ok || around[next.to]
				}
			}
			ok = ok || !possible
		}
		if !ok {
			return false
		}
	}
	return true
}

// checkLoop: the run goes from a state with From on without To, comes back to where
// its loop begins, and is fair on the way around.
func checkLoop(t *rapid.T, g graph, v *explore.Violation[int], from, goal int, fair [][]int) {
	begin := 0
	for begin < len(v.Trace) && v.Trace[begin].State != from {
		begin++
	}
	last := len(v.Trace) - 1
	if begin > v.Loop || v.Trace[v.Loop].State != v.Trace[last].State {
		t.Fatalf("%+v is no loop", v)
	}
	around := map[int]bool{}
	for i := begin; i <= last; i++ {
		if v.Trace[i].State == goal {
			t.Fatalf("%+v comes by the goal", v)
		}
		if i >= v.Loop {
			around[v.Trace[i].State] = true
		}
	}
	for _, action := range fair {
		ok := false
		for s := range around {
			ok = ok || !slices.ContainsFunc(g.steps[s], func(next step) bool {
				return slices.Contains(action, next.label) && next.to != s
			})
		}
		for i := v.Loop + 1; i <= last; i++ {
			for _, l := range action {
				ok = ok || v.Trace[i].Label == g.Labels()[l] && v.Trace[i].State != v.Trace[i-1].State
			}
		}
		if !ok {
			t.Fatalf("%+v is not fair to %v", v, action)
		}
	}
}

// TestFairness: what counts as a step of a fair action, in graphs of a state 0 and the
// goal 1.
func TestFairness(t *testing.T) {
	for _, c := range []struct {
		name   string
		steps  []step
		broken bool
	}{
		{"nothing is possible", nil, true},
		{"the action leads to the goal", []step{{0, 1}}, false},
		{"another one does, which need not be taken", []step{{1, 1}}, true},
		{"a step that changes nothing is none", []step{{0, 0}, {0, 1}}, false},
		{"nor is it if it is the only one", []step{{0, 0}}, true},
	} {
		g := graph{initial: []int{0}, labels: 2, steps: map[int][]step{0: c.steps}}
		r := explore.Explore(g, explore.Options[int]{LeadsTo: []explore.LeadsTo[int]{{
			Name: "P", Fair: [][]int{{0}},
			From: func(s int) bool { return s == 0 }, To: func(s int) bool { return s == 1 },
		}}})
		if (r.Violation != nil) != c.broken {
			t.Errorf("%s: %+v", c.name, r.Violation)
		}
	}
}
