package abstract

import (
	"math/bits"
	"slices"
)

// IsStep reports whether an abstract memory may go from one state to another: whether Next has
// the step. In from and to two allocations may overlap.
func (m *Machine) IsStep(from, to State) bool {
	gone, come := difference(from.Held, to.Held), difference(to.Held, from.Held)
	same := slices.Equal(from.Graphs, to.Graphs)
	switch {
	case !allIsGranted(to):
		return false
	case len(gone) == 0 && len(come) == 0:
		return same && (m.meanwhile(from.Queues, to) || m.launched(from, to)) || m.graphChanges(from, to) && m.meanwhile(from.Queues, to)
	case len(gone) == 0 && len(come) == 1:
		return m.isMalloc(from, to, come[0])
	case len(gone) == 1 && len(come) == 0:
		return same && m.meanwhile(used(from.Queues, gone[0].Users, gone[0].Memory), to)
	}
	return same && len(gone) == 1 && len(come) == 1 && isRecorded(gone[0], come[0]) && m.meanwhile(from.Queues, to)
}

// difference is what one list has more than another.
func difference(list, other []Allocation) (more []Allocation) {
	for _, x := range list {
		if !slices.Contains(other, x) {
			more = append(more, x)
		}
	}
	return more
}

// allIsGranted is the rule AllIsGranted: nothing is used that the driver has not granted.
func allIsGranted(s State) bool {
	all, graphs := s.bytes()
	all |= graphs
	for _, queue := range s.Queues {
		for _, p := range queue {
			all |= p.Uses
		}
	}
	for _, g := range s.Granted {
		all &^= g
	}
	return all == 0
}

// meanwhile reports whether the queues after a step are what some become while the allocator waits,
// and may let a stream wait.
func (m *Machine) meanwhile(queues [][]Piece, to State) bool {
	if timePasses(queues, to.Queues) {
		return true
	}
	for stream := 1; stream <= m.Streams; stream++ {
		for _, pieces := range upTo(behind(queues, stream), lengths(queues)) {
			if timePasses(waiting(queues, stream, pieces), to.Queues) {
				return true
			}
		}
	}
	return false
}

// launched reports whether a step is Launch.
func (m *Machine) launched(from, to State) bool {
	for _, x := range from.Held {
		for stream := 1; stream <= m.Streams; stream++ {
			graphs, _ := from.into(stream)
			if len(graphs) == 0 && (stream == x.Stream || x.Users.Has(stream)) &&
				m.meanwhile(used(from.Queues, Users(0).With(stream), x.Memory), to) {
				return true
			}
		}
	}
	return false
}

// graphChanges reports whether a graph's captured streams change, or a graph is destroyed.
func (m *Machine) graphChanges(from, to State) bool {
	changes := 0
	for i, g := range from.Graphs {
		now := to.Graphs[i]
		switch {
		case g == now:
			continue
		case g.Memory != now.Memory && (now.Memory != 0 || g.Streams != 0 || now.Streams != 0):
			return false
		}
		changes++
	}
	return changes == 1
}

// isMalloc reports whether a step is a malloc that returns an allocation.
func (m *Machine) isMalloc(from, to State, x Allocation) bool {
	into, _ := from.into(x.Stream)
	for i, g := range from.Graphs {
		if slices.Contains(into, i) {
			g.Memory |= x.Memory
		}
		if to.Graphs[i] != g {
			return false
		}
	}
	return m.serves(x.Memory) && x.Users == 0 && m.meanwhile(from.Queues, to) && mayBeTaken(from, to.Queues, x.Memory, x.Stream)
}

// mayBeTaken is the promise: what a malloc on a stream may return when these are the queues.
func mayBeTaken(s State, queues [][]Piece, memory Bytes, stream int) bool {
	held, _ := s.bytes()
	_, others := s.into(stream)
	if memory&(held|others) != 0 {
		return false
	}
	before := behind(queues, stream)
	for t, queue := range queues {
		for i, p := range queue {
			if p.Uses&memory != 0 && i >= before[t] {
				return false
			}
		}
	}
	return true
}

// CannotServe is the rule of that name: a malloc on a stream may fail.
func (m *Machine) CannotServe(s State, needs int) bool {
	held, graphs := s.bytes()
	isKept := func(memory Bytes) bool { return memory&(held|graphs) != 0 }
	if slices.ContainsFunc(s.Graphs, func(g Graph) bool { return g.Streams != 0 }) { // all streams are of one device
		isKept = func(Bytes) bool { return true }
	}
	for _, memory := range s.Granted {
		if isKept(memory) {
			needs += bits.OnesCount64(uint64(memory))
		}
	}
	return needs > m.Room
}

// serves reports whether memory is consecutive, aligned, and enough for the least request.
func (m *Machine) serves(memory Bytes) bool {
	low := bits.TrailingZeros64(uint64(memory))
	run := memory >> low
	return run&(run+1) == 0 && low%max(1, m.Align) == 0 && bits.OnesCount64(uint64(memory)) >= slices.Min(m.Sizes)
}

// isRecorded reports whether an allocation has got one user more.
func isRecorded(before, after Allocation) bool {
	added := after.Users &^ before.Users
	return before.Name == after.Name && before.Memory == after.Memory && before.Stream == after.Stream && before.Users&^after.Users == 0 &&
		bits.OnesCount64(uint64(added)) == 1 && !added.Has(before.Stream)
}
