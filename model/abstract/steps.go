package abstract

import "slices"

// What a program does, and what may come of it. The operators have the names of AbstractMemory.tla.

// after yields a state with every queue that can be left of some, in which a stream may wait, and
// with everything that the driver may have granted then.
func (m *Machine) after(s State, queues [][]Piece, yield func(State)) {
	starts := [][][]Piece{queues}
	for stream := 1; stream <= m.Streams; stream++ {
		for _, pieces := range upTo(behind(queues, stream), lengths(queues)) {
			starts = append(starts, waiting(queues, stream, pieces))
		}
	}
	for _, start := range starts {
		for _, counts := range upTo(make([]int, m.Streams), lengths(start)) {
			if !completable(start, counts) {
				continue
			}
			s.Queues = left(start, counts)
			if slices.ContainsFunc(s.Queues, func(q []Piece) bool { return len(q) > m.Work }) {
				continue
			}
			for _, granted := range m.grants() {
				if s.Granted = granted; allIsGranted(s) {
					yield(s)
				}
			}
		}
	}
}

// grants lists what the driver can have granted: ranges of which no two overlap.
func (m *Machine) grants() [][]Bytes {
	all := []State{{}}
	for low := range m.Bytes {
		for _, s := range slices.Clone(all) {
			for high := low; high < m.Bytes; high++ {
				memory := Range(low, high)
				if !slices.ContainsFunc(s.Granted, func(g Bytes) bool { return g&memory != 0 }) {
					all = append(all, State{Granted: s.Grant(memory)})
				}
			}
		}
	}
	var list [][]Bytes
	for _, s := range all {
		list = append(list, s.Granted)
	}
	return list
}

func (m *Machine) malloc(s State, stream, bytes int, yield func(State)) {
	into, _ := s.into(stream)
	for name := range m.Names {
		if slices.ContainsFunc(s.Held, func(x Allocation) bool { return x.Name == name }) {
			continue
		}
		for low := 0; low < m.Bytes; low += max(1, m.Align) {
			for high := low + bytes - 1; high < m.Bytes; high++ {
				memory := Range(low, high)
				next := State{Held: s.Take(Allocation{name, memory, stream, 0}), Graphs: slices.Clone(s.Graphs)}
				for _, g := range into {
					next.Graphs[g].Memory |= memory
				}
				m.after(next, s.Queues, func(to State) {
					if mayBeTaken(s, to.Queues, memory, stream) {
						yield(to)
					}
				})
			}
		}
	}
}

func (m *Machine) recordStream(s State, x Allocation, stream int, yield func(State)) {
	queues := s.Queues
	rest := State{Held: s.Without(x.Name)}
	x.Users = x.Users.With(stream)
	s.Held = rest.Take(x)
	m.after(s, queues, yield)
}

func (m *Machine) free(s State, x Allocation, yield func(State)) {
	queues := used(s.Queues, x.Users, x.Memory)
	s.Held = s.Without(x.Name)
	m.after(s, queues, yield)
}

func (m *Machine) launch(s State, x Allocation, stream int, yield func(State)) {
	if into, _ := s.into(stream); len(into) == 0 {
		m.after(s, used(s.Queues, Users(0).With(stream), x.Memory), yield)
	}
}

// graph yields the steps in which the captured streams of a graph change, or it is destroyed.
func (m *Machine) graph(s State, i int, yield func(State)) {
	change := func(to Graph) {
		next := s
		next.Graphs = slices.Clone(s.Graphs)
		next.Graphs[i] = to
		m.after(next, s.Queues, yield)
	}
	for streams := range Users(1) << m.Streams {
		change(Graph{streams, s.Graphs[i].Memory})
	}
	if s.Graphs[i].Streams == 0 {
		change(Graph{})
	}
}
