package abstract

import (
	"cmp"
	"math/bits"
	"slices"
)

// Bytes is a set of bytes of the memory, a bit for each address.
type Bytes uint64

// Range is the bytes from one address to another, both included.
func Range(low, high int) (b Bytes) {
	for a := low; a <= high; a++ {
		b |= 1 << a
	}
	return b
}

// Addresses lists the addresses in order.
func (b Bytes) Addresses() (list []int) {
	for ; b != 0; b &= b - 1 {
		list = append(list, bits.TrailingZeros64(uint64(b)))
	}
	return list
}

// Users is a set of streams, a bit for each: bit 0 is stream 1.
type Users uint64

// Has reports whether a stream is in the set.
func (u Users) Has(stream int) bool { return u>>(stream-1)&1 != 0 }

// With is the set with a stream added.
func (u Users) With(stream int) Users { return u | 1<<(stream-1) }

// An Allocation is memory that a malloc returned and the program has not freed.
type Allocation struct {
	Name   int // no two have the same
	Memory Bytes
	Stream int   // of the malloc, from 1
	Users  Users // the recorded streams
}

// A Piece is work of a stream. It runs after so many pieces of the queue of each stream, by the
// stream's number less 1; of its own queue these are all that are before it.
type Piece struct {
	Uses   Bytes // none where a stream waits
	Behind []int
}

func (p Piece) equal(o Piece) bool { return p.Uses == o.Uses && slices.Equal(p.Behind, o.Behind) }

// A Graph is what is captured for it.
type Graph struct {
	Streams Users // that are captured into it now
	Memory  Bytes // that it works on
}

// A State is the variables of AbstractMemory.tla. No function changes a State.
type State struct {
	Held    []Allocation // by name
	Queues  [][]Piece    // by stream: its pending work, oldest first
	Granted []Bytes      // what the driver has granted, in order of the numbers
	Graphs  []Graph
}

// Initial is the state in which nothing has happened.
func Initial(streams, graphs int) State {
	return State{Queues: make([][]Piece, streams), Graphs: make([]Graph, graphs)}
}

// Take is what the program holds after a malloc.
func (s State) Take(x Allocation) []Allocation {
	all := append(slices.Clone(s.Held), x)
	slices.SortFunc(all, func(x, y Allocation) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// Without is what the program holds after a free.
func (s State) Without(name int) []Allocation {
	return slices.DeleteFunc(slices.Clone(s.Held), func(x Allocation) bool { return x.Name == name })
}

// Grant is what is granted when the driver has granted memory too.
func (s State) Grant(memory Bytes) []Bytes {
	granted := append(slices.Clone(s.Granted), memory)
	slices.Sort(granted)
	return granted
}

// into are the graphs into which a stream is captured, and the bytes that other graphs work on.
func (s State) into(stream int) (graphs []int, others Bytes) {
	for i, g := range s.Graphs {
		if g.Streams.Has(stream) {
			graphs = append(graphs, i)
		} else {
			others |= g.Memory
		}
	}
	return graphs, others
}

// bytes is all that the program holds, and all that graphs work on.
func (s State) bytes() (held, graphs Bytes) {
	for _, x := range s.Held {
		held |= x.Memory
	}
	for _, g := range s.Graphs {
		graphs |= g.Memory
	}
	return held, graphs
}

// AllocationsAreDisjoint reports whether no byte is in two allocations.
func (s State) AllocationsAreDisjoint() bool {
	var taken Bytes
	for _, x := range s.Held {
		if taken&x.Memory != 0 {
			return false
		}
		taken |= x.Memory
	}
	return true
}

// InOrder reports whether pending uses of what is held are its own, or come before the next work of
// its stream.
func (s State) InOrder() bool {
	for _, x := range s.Held {
		behind := behind(s.Queues, x.Stream)
		for t, queue := range s.Queues {
			for i, p := range queue {
				if !x.Users.Has(t+1) && p.Uses&x.Memory != 0 && i >= behind[t] {
					return false
				}
			}
		}
	}
	return true
}
