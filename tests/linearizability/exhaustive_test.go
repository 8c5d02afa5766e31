package linearizability

import "slices"

// Exhaustive is a policy that runs every schedule once, depth first: run the program, call
// Next, and run it again until Next returns false.
//
// It keeps the choices of the present run, and the number of alternatives of each. The next
// run makes the same choices up to the last one with an untried alternative, and takes
// that. This is complete since the alternatives depend on the earlier choices only.
//
// A preemption is a choice of another thread although the one that ran last could go on. With a
// bound only the schedules are run that have no more of them. A thread that goes on comes first, so
// that the first run has none.
type Exhaustive struct {
	Bounded     bool
	Preemptions int // the most in a schedule, if Bounded

	path []branch
	at   int // the number of choices in this run
	last int // the thread chosen last, plus 1
	left int // preemptions
}

// branch is a choice and its number of alternatives.
type branch struct{ taken, of int }

// Choose implements Policy.
func (e *Exhaustive) Choose(ready []int) int {
	if !e.Bounded {
		return ready[e.choice(len(ready))]
	}
	if e.at == 0 {
		e.last, e.left = 0, e.Preemptions
	}
	last := slices.Index(ready, e.last-1)
	switch {
	case last >= 0 && e.left == 0:
		return ready[last]
	case last >= 0:
		ready = slices.Concat([]int{ready[last]}, ready[:last], ready[last+1:])
	}
	choice := e.choice(len(ready))
	if last >= 0 && choice > 0 {
		e.left--
	}
	e.last = ready[choice] + 1
	return ready[choice]
}

// choice is one of a number of alternatives.
func (e *Exhaustive) choice(of int) int {
	if e.at == len(e.path) {
		e.path = append(e.path, branch{0, of})
	}
	e.at++
	return e.path[e.at-1].taken
}

// Next prepares the next run, and reports whether there is one.
func (e *Exhaustive) Next() bool {
	e.at = 0
	for n := len(e.path); n > 0; n-- {
		last := &e.path[n-1]
		if last.taken+1 < last.of {
			last.taken++
			return true
		}
		e.path = e.path[:n-1]
	}
	return false
}
