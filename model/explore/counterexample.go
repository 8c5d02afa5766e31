package explore

// violation is the failure with a shortest counterexample. It is shortest since the
// search is breadth first.
func (e *exploration[S]) violation(w *failure) *Violation[S] {
	trace := e.trace(w.state)
	if w.label >= 0 {
		trace = append(trace, e.breaking(trace[len(trace)-1].State, w))
	}
	return &Violation[S]{Property: w.property, Trace: trace, Loop: -1}
}

// trace is a shortest path to a state. The states on it were not kept; they are computed
// again.
func (e *exploration[S]) trace(state int) []Step[S] {
	path := []int{state}
	for e.parents[state] != initial {
		state = int(e.parents[state])
		path = append(path, state)
	}
	steps := []Step[S]{{State: e.initial(state)}}
	for i := len(path) - 2; i >= 0; i-- {
		steps = append(steps, e.step(steps[len(steps)-1].State, func(_, to int) bool { return to == path[i] }))
	}
	return steps
}

func (e *exploration[S]) initial(number int) (found S) {
	for _, s := range e.specification.Initial() {
		if e.numberOf(s) == number {
			return s
		}
	}
	panic("explore: Initial yields other states than before")
}

// step is the first step from a state whose label and target satisfy a predicate.
func (e *exploration[S]) step(from S, wanted func(label, to int) bool) (found Step[S]) {
	isFound := false
	e.specification.Next(from, func(label int, next S) {
		if !isFound && wanted(label, e.numberOf(next)) {
			isFound, found = true, Step[S]{e.labels[label], next}
		}
	})
	if !isFound {
		panic("explore: Next yields other steps than before")
	}
	return found
}

// breaking is the first step from a state that breaks a property.
func (e *exploration[S]) breaking(from S, w *failure) (found Step[S]) {
	isFound := false
	e.specification.Next(from, func(label int, next S) {
		if broken := e.brokenStepProperty(from, label, next); !isFound && label == w.label && broken > 0 {
			isFound, found = true, Step[S]{e.labels[label], next}
		}
	})
	return found
}

// numberOf is the number of a known state, or -1.
func (e *exploration[S]) numberOf(s S) int {
	key := e.key(nil, s)
	print := fingerprintOf(key)
	part := e.parts[e.part(print)]
	at := part.find(print, key)
	if part.table[at] == 0 {
		return -1
	}
	return int(part.numbers[part.table[at]-1])
}
