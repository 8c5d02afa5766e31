package explore

// violation is the failure with a shortest counterexample. It is shortest since the
// search is breadth first.
func (e *exploration[S]) violation(w *failure) (*Violation[S], error) {
	trace, err := e.trace(w.State)
	if err != nil {
		return nil, err
	}
	if w.Step != none {
		trace = append(trace, e.step(trace[len(trace)-1].State, func(step, _ int, _ S) bool { return step == w.Step }))
	}
	return &Violation[S]{Property: w.Property, Trace: trace, Loop: -1}, nil
}

// trace is a shortest path to a state. The states on it are computed again, each from the
// one before.
func (e *exploration[S]) trace(state int) ([]Step[S], error) {
	var steps []int // backwards
	by, err := e.store.arrival(state)
	for ; err == nil && by.from != initial; by, err = e.arrivalOf(by.shard, int(by.from)) {
		steps = append(steps, int(by.step))
	}
	if err != nil {
		return nil, err
	}
	trace := []Step[S]{{State: e.specification.Initial()[by.step]}}
	for i := len(steps) - 1; i >= 0; i-- {
		trace = append(trace, e.step(trace[len(trace)-1].State, func(step, _ int, _ S) bool { return step == steps[i] }))
	}
	return trace, nil
}

// step is the first step from a state that satisfies a predicate.
func (e *exploration[S]) step(from S, wanted func(step, label int, next S) bool) (found Step[S]) {
	isFound := false
	step := 0
	e.specification.Next(from, func(label int, next S) {
		if !isFound && wanted(step, label, next) {
			isFound, found = true, Step[S]{e.labels[label], next}
		}
		step++
	})
	if !isFound {
		panic("explore: Next yields other steps than before")
	}
	return found
}

// numberOf is the number of a known state, or none.
func (e *exploration[S]) numberOf(s S) int {
	var key []byte
	if e.options.Symmetry != nil {
		key = e.options.Symmetry(nil, s)
	} else {
		key = e.specification.Key(nil, s)
	}
	number := e.numbers.number(fingerprintOf(key), key)
	if number == nil {
		return none
	}
	return int(*number)
}
