package explore

import "fmt"

// violation is the failure with a shortest counterexample. It is shortest since the
// search is breadth first.
func (e *exploration[S]) violation(w *failure) (*Violation[S], error) {
	trace, err := e.trace(w.State)
	if err != nil {
		return nil, err
	}
	last := trace[len(trace)-1].State
	if w.Step == none {
		explored := e.decoders[0](e.specification.Key(nil, last)) // what was checked: a mistake may be in what has no key
		if i := e.brokenInvariant(explored); i < 0 || e.options.Invariants[i].Name != w.Property {
			return nil, e.leadsElsewhere(w.State)
		}
		return &Violation[S]{Property: w.Property, Trace: trace, Loop: -1}, nil
	}
	step, found := e.step(last, func(step, _ int, _ S) bool { return step == w.Step })
	if !found {
		return nil, e.leadsElsewhere(w.State)
	}
	return &Violation[S]{Property: w.Property, Trace: append(trace, step), Loop: -1}, nil
}

// trace is a shortest path to a state. The states on it are computed again, each from the
// one before.
func (e *exploration[S]) trace(state int) ([]Step[S], error) {
	var steps []int // backwards
	by, err := e.store.arrival(state)
	for ; err == nil && by.from != initial; by, err = e.store.arrival(int(by.from)) {
		if steps = append(steps, int(by.step)); len(steps) > e.result.Depth {
			return nil, e.leadsElsewhere(state)
		}
	}
	if err != nil {
		return nil, err
	}
	begin := e.specification.Initial()
	if int(by.step) >= len(begin) {
		return nil, e.leadsElsewhere(state)
	}
	trace := []Step[S]{{State: begin[by.step]}}
	for i := len(steps) - 1; i >= 0; i-- {
		next, found := e.step(trace[len(trace)-1].State, func(step, _ int, _ S) bool { return step == steps[i] })
		if !found {
			return nil, e.leadsElsewhere(state)
		}
		trace = append(trace, next)
	}
	return trace, nil
}

// leadsElsewhere says that the recorded steps to a state do not lead there.
func (e *exploration[S]) leadsElsewhere(state int) error {
	return &CheckpointError{e.resources.Dir, fmt.Sprintf("the recorded steps to state %d lead elsewhere: a file of states was changed, or steps are not always yielded in the same order", state)}
}

// step is the first step from a state that satisfies a predicate.
func (e *exploration[S]) step(from S, wanted func(step, label int, next S) bool) (found Step[S], isFound bool) {
	step := 0
	e.specification.Next(from, func(label int, next S) {
		if !isFound && wanted(step, label, next) {
			isFound, found = true, Step[S]{e.labels[label], next}
		}
		step++
	})
	return found, isFound
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
