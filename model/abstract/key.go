package abstract

import "encoding/binary"

// Key implements explore.Specification: the numbers of the state, one after the other.
func (m *Machine) Key(to []byte, s State) []byte {
	number := func(n uint64) { to = binary.AppendUvarint(to, n) }
	number(uint64(len(s.Allocations)))
	for _, x := range s.Allocations {
		number(uint64(x.Memory))
		number(uint64(x.Stream))
		number(uint64(x.Users))
	}
	for i := range m.Streams {
		number(uint64(s.Belongs[i]))
		number(uint64(len(s.Work[i])))
		for _, memory := range s.Work[i] {
			number(uint64(memory))
		}
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
	s := Initial(m.Streams)
	for range number() {
		s.Allocations = append(s.Allocations, Allocation{Memory: Bytes(number()), Stream: int(number()), Users: Users(number())})
	}
	for i := range m.Streams {
		s.Belongs[i] = Bytes(number())
		for range number() {
			s.Work[i] = append(s.Work[i], Bytes(number()))
		}
	}
	return s
}
