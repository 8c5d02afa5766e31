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
	Memory Bytes
	Stream int   // of the malloc, from 1
	Users  Users // the recorded streams
}

// A State is the variables of AbstractMemory.tla. No function changes a State.
type State struct {
	Allocations []Allocation // by memory; no two overlap
	Work        [][]Bytes    // by stream, oldest first: the memory of its pending uses of freed allocations
	Belongs     []Bytes      // by stream: the memory on which it can have work as the stream of an allocation
}

// Initial is the state in which nothing has happened.
func Initial(streams int) State {
	return State{Work: make([][]Bytes, streams), Belongs: make([]Bytes, streams)}
}

// Take is the allocations after a malloc.
func (s State) Take(x Allocation) []Allocation {
	all := append(slices.Clone(s.Allocations), x)
	slices.SortFunc(all, func(x, y Allocation) int { return cmp.Compare(x.Memory, y.Memory) })
	return all
}

// Without is the allocations after a free.
func (s State) Without(x Allocation) []Allocation {
	return slices.DeleteFunc(slices.Clone(s.Allocations), func(y Allocation) bool { return x == y })
}

// pending is the memory that a stream's work uses.
func pending(work [][]Bytes, stream int) (b Bytes) {
	for _, memory := range work[stream-1] {
		b |= memory
	}
	return b
}

// AllocationsAreDisjoint reports whether no byte is in two allocations.
func (s State) AllocationsAreDisjoint() bool {
	var taken Bytes
	for _, x := range s.Allocations {
		if taken&x.Memory != 0 {
			return false
		}
		taken |= x.Memory
	}
	return true
}

// InOrder reports whether no stream has work on the memory of an allocation on another stream.
func (s State) InOrder() bool {
	for _, x := range s.Allocations {
		for t := 1; t <= len(s.Work); t++ {
			if t != x.Stream && x.Memory&(pending(s.Work, t)|s.Belongs[t-1]) != 0 {
				return false
			}
		}
	}
	return true
}
