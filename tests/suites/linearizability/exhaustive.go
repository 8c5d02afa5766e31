package linearizability

// Exhaustive is a policy that takes every schedule in turn, depth first: run the
// program, call Next, and run it again until Next says that there is no more.
//
// It remembers the choices of the present run, and how many there were each time.
// The next run makes the same choices, except that the last one which could go
// further does so. That takes every schedule once, since what can be chosen
// depends on what was chosen before and on nothing else.
type Exhaustive struct {
	path []branch
	at   int // how many choices this run has made
}

// branch is a choice: which of how many.
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
