// Package slab has memory for many short slices that are needed for a short time. All of
// them are given up together. It spares the garbage collector one allocation per slice.
package slab

// A Slab is memory for slices of one type. Before the first Reset, and when the memory is
// used up, slices are allocated one by one.
type Slab[T any] struct {
	all     []T
	used    int  // of all, and what was allocated one by one
	isReset bool // otherwise the Slab is not changed, and can be shared
}

// spare is how many elements a slice can grow by in place.
const spare = 2

// Take is a slice of n elements. They may have any value.
func (m *Slab[T]) Take(n int) []T {
	if !m.isReset {
		return make([]T, n)
	}
	begin := m.used
	m.used += n + spare
	if m.used > len(m.all) {
		return make([]T, n)
	}
	return m.all[begin : begin+n : m.used]
}

// Clone is a copy of a slice. That of an empty one needs no memory.
func (m *Slab[T]) Clone(from []T) []T {
	if len(from) == 0 {
		return from[:0:0]
	}
	to := m.Take(len(from)) // not slices.Clone, for which the compiler moves from to the heap
	copy(to, from)
	return to
}

// Reset gives all slices up, whose memory is used again. It enlarges the memory to twice
// what was used since the last Reset, if that was more than there is.
func (m *Slab[T]) Reset() {
	m.isReset = true
	if m.used > len(m.all) {
		m.all = make([]T, 2*m.used)
	}
	m.used = 0
}
