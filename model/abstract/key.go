package abstract

import "encoding/binary"

// Key implements explore.Specification: the numbers of the state, one after the other.
func (m *Machine) Key(to []byte, s State) []byte {
	number := func(n uint64) { to = binary.AppendUvarint(to, n) }
	number(uint64(len(s.Held)))
	for _, x := range s.Held {
		number(uint64(x.Name))
		number(uint64(x.Memory))
		number(uint64(x.Stream))
		number(uint64(x.Users))
	}
	for _, queue := range s.Queues {
		number(uint64(len(queue)))
		for _, p := range queue {
			number(uint64(p.Uses))
			for _, n := range p.Behind {
				number(uint64(n))
			}
		}
	}
	number(uint64(len(s.Granted)))
	for _, g := range s.Granted {
		number(uint64(g))
	}
	for _, g := range s.Graphs {
		number(uint64(g.Streams))
		number(uint64(g.Memory))
	}
	return to
}

// Decoder implements explore.Specification.
func (m *Machine) Decoder() func(key []byte) State { return m.decode }

// decode is the state that has a key.
func (m *Machine) decode(key []byte) State {
	number := func() uint64 {
		n, length := binary.Uvarint(key)
		key = key[length:]
		return n
	}
	s := Initial(m.Streams, m.Graphs)
	for range number() {
		s.Held = append(s.Held, Allocation{int(number()), Bytes(number()), int(number()), Users(number())})
	}
	for i := range s.Queues {
		for range number() {
			p := Piece{Uses: Bytes(number())}
			for range m.Streams {
				p.Behind = append(p.Behind, int(number()))
			}
			s.Queues[i] = append(s.Queues[i], p)
		}
	}
	for range number() {
		s.Granted = append(s.Granted, Bytes(number()))
	}
	for i := range s.Graphs {
		s.Graphs[i] = Graph{Users(number()), Bytes(number())}
	}
	return s
}
