package abstract

import "slices"

// The operators have the names of AbstractMemory.tla.

// afterSomeTime lists what the pending work may be after some of it has completed.
func (m *Machine) afterSomeTime(work [][]Bytes) [][][]Bytes {
	all := [][][]Bytes{nil}
	for _, queue := range work {
		var longer [][][]Bytes
		for _, before := range all {
			for n := range len(queue) + 1 {
				longer = append(longer, append(slices.Clone(before), queue[n:]))
			}
		}
		all = longer
	}
	return all
}

// belongsAfter lists what may belong to the streams after a step.
func (m *Machine) belongsAfter(s State, allocations []Allocation, work [][]Bytes) (all [][]Bytes) {
	must := make([]Bytes, m.Streams)
	for _, x := range allocations {
		must[x.Stream-1] |= x.Memory
	}
	var extend func(before []Bytes, taken Bytes)
	extend = func(before []Bytes, taken Bytes) {
		stream := len(before) + 1
		if stream > m.Streams {
			all = append(all, before)
			return
		}
		for b := range Range(0, m.Bytes-1) + 1 {
			if must[stream-1]&^b == 0 && b&taken == 0 && !m.worksElsewhere(b&^s.Belongs[stream-1], stream, work) {
				extend(append(slices.Clone(before), b), taken|b)
			}
		}
	}
	extend(nil, 0)
	return all
}

// worksElsewhere reports whether a stream other than this one has pending work on memory.
func (m *Machine) worksElsewhere(memory Bytes, stream int, work [][]Bytes) bool {
	for t := 1; t <= m.Streams; t++ {
		if t != stream && pending(work, t)&memory != 0 {
			return true
		}
	}
	return false
}

// stepTo yields the states with these allocations and this work pending.
func (m *Machine) stepTo(s State, allocations []Allocation, work [][]Bytes, yield func(State)) {
	for _, belongs := range m.belongsAfter(s, allocations, work) {
		yield(State{allocations, work, belongs})
	}
}

// mayBeTaken is the promise: what a malloc on a stream may return.
func (m *Machine) mayBeTaken(s State, memory Bytes, stream int, work [][]Bytes) bool {
	for _, x := range s.Allocations {
		if x.Memory&memory != 0 {
			return false
		}
	}
	return !m.worksElsewhere(memory, stream, work)
}

func (m *Machine) malloc(s State, stream, bytes int, yield func(State)) {
	for _, work := range m.afterSomeTime(s.Work) {
		for low := range m.Bytes {
			for high := low + bytes - 1; high < m.Bytes; high++ {
				if memory := Range(low, high); m.mayBeTaken(s, memory, stream, work) {
					m.stepTo(s, s.Take(Allocation{Memory: memory, Stream: stream}), work, yield)
				}
			}
		}
	}
}

// noAllocationChanges: a malloc is out of memory, or there is none, and time passes.
func (m *Machine) noAllocationChanges(s State, yield func(State)) {
	for _, work := range m.afterSomeTime(s.Work) {
		m.stepTo(s, s.Allocations, work, yield)
	}
}

func (m *Machine) recordStream(s State, x Allocation, stream int, yield func(State)) {
	used := x
	used.Users = x.Users.With(stream)
	for _, work := range m.afterSomeTime(s.Work) {
		m.stepTo(s, State{Allocations: s.Without(x)}.Take(used), work, yield)
	}
}

func (m *Machine) free(s State, x Allocation, yield func(State)) {
	for _, work := range m.afterSomeTime(launch(x, s.Work)) {
		m.stepTo(s, s.Without(x), work, yield)
	}
}

// launch adds the last work of each user.
func launch(x Allocation, work [][]Bytes) [][]Bytes {
	next := slices.Clone(work)
	for i, queue := range work {
		if x.Users.Has(i + 1) {
			next[i] = append(slices.Clone(queue), x.Memory)
		}
	}
	return next
}
