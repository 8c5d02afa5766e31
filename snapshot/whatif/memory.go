package whatif

import (
	"slices"

	"gaugeblock/spec"
)

// heldMemory is what is held from the driver, by address: plain segments, and the
// mapped ranges of expandable ones. It is used backwards as well as forwards.
type heldMemory []heldRange

type heldRange struct {
	spec.Range
	stream     spec.Stream
	pool       spec.PoolID
	kind       spec.PoolKind
	expandable bool
	poolKnown  bool
}

// around is the index of the range that has an address, -1 if there is none.
func (m heldMemory) around(p spec.Ptr) int {
	i, found := slices.BinarySearchFunc(m, p, func(r heldRange, p spec.Ptr) int {
		switch {
		case r.End() <= p:
			return -1
		case r.Ptr > p:
			return 1
		}
		return 0
	})
	if !found {
		return -1
	}
	return i
}

// add puts a range in. One that touches a range of the same expandable segment
// grows it.
func (m *heldMemory) add(r heldRange) {
	at, _ := slices.BinarySearchFunc(*m, r.Ptr, func(h heldRange, p spec.Ptr) int {
		if h.Ptr < p {
			return -1
		}
		return 1
	})
	*m = slices.Insert(*m, at, r)
	m.join(at)
	m.join(at - 1)
}

// join merges a range with the next one if they belong together.
func (m *heldMemory) join(i int) {
	if i < 0 || i+1 >= len(*m) {
		return
	}
	a, b := &(*m)[i], (*m)[i+1]
	if a.expandable && b.expandable && a.stream == b.stream && a.kind == b.kind && a.pool == b.pool && a.End() == b.Ptr {
		a.Bytes += b.Bytes
		*m = slices.Delete(*m, i+1, i+2)
	}
}

// remove takes bytes out, and reports whether they were all in one range.
func (m *heldMemory) remove(r spec.Range) bool {
	i := m.around(r.Ptr)
	if i < 0 || !(*m)[i].Contains(r) {
		return false
	}
	before, behind := (*m)[i], (*m)[i]
	before.Bytes = uint64(r.Ptr - before.Ptr)
	behind.Bytes = uint64(behind.End() - r.End())
	behind.Ptr = r.End()
	var rest []heldRange
	for _, part := range []heldRange{before, behind} {
		if part.Bytes > 0 {
			rest = append(rest, part)
		}
	}
	*m = slices.Replace(*m, i, i+1, rest...)
	return true
}

// memoryAtEnd is what the segments of a snapshot say of a device.
func memoryAtEnd(segments []spec.Segment, dev spec.Device) heldMemory {
	var m heldMemory
	for i := range segments {
		if s := &segments[i]; s.Device == dev {
			m.add(heldRange{
				Range: spec.Range{Ptr: s.Address, Bytes: s.TotalSize}, stream: s.Stream,
				pool: s.Pool, kind: s.PoolKind, expandable: s.Expandable, poolKnown: true,
			})
		}
	}
	return m
}
