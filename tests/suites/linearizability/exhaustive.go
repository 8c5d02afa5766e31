package linearizability

// Exhaustive is a policy that runs every schedule once, depth first: run the program, call
// Next, and run it again until Next returns false.
//
// It keeps the choices of the present run, and the number of alternatives of each. The next
// run makes the same choices up to the last one with an untried alternative, and takes
// that. This is complete since the alternatives depend on the earlier choices only.
type Exhaustive struct {
	path []branch
	at   int // the number of choices in this run
}

// branch is a choice and its number of alternatives.
type branch struct{ taken, of int }

// Choose implements Policy.
func (e *Exhaustive) Choose(ready []int) int {
	if e.at == len(e.path) {
		e.path = append(e.path, branch{0, len(ready)})
	}
	choice := e.path[e.at].taken
	e.at++
	return ready[choice]
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
