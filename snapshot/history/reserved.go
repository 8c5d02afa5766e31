package history

import (
	"slices"

	"gaugeblock/spec"
)

// reservedMemory is the reserved memory by address: segments, and the mapped ranges of
// expandable segments.
type reservedMemory []reservedRange

type reservedRange struct {
	spec.Range
	stream     spec.Stream
	pool       spec.PoolID
	kind       spec.PoolKind
	expandable bool
	poolKnown  bool
}

// rangeAt is the index of the range that contains an address, -1 if there is none.
func (m reservedMemory) rangeAt(p spec.Ptr) int {
	i, found := slices.BinarySearchFunc(m, p, func(r reservedRange, p spec.Ptr) int {
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

// add adds a range, and merges it with adjacent ranges of the same expandable segment.
func (m *reservedMemory) add(r reservedRange) {
	at, _ := slices.BinarySearchFunc(*m, r.Ptr, func(other reservedRange, p spec.Ptr) int {
		if other.Ptr < p {
			return -1
		}
		return 1
	})
	*m = slices.Insert(*m, at, r)
	m.merge(at)
	m.merge(at - 1)
}

// merge merges a range with the next one if both are of one expandable segment.
func (m *reservedMemory) merge(i int) {
	if i < 0 || i+1 >= len(*m) {
		return
	}
	a, b := &(*m)[i], (*m)[i+1]
	if a.expandable && b.expandable && a.stream == b.stream && a.kind == b.kind && a.pool == b.pool && a.End() == b.Ptr {
		a.Bytes += b.Bytes
		*m = slices.Delete(*m, i+1, i+2)
	}
}

// remove removes bytes, and reports whether they were all in one range.
func (m *reservedMemory) remove(r spec.Range) bool {
	i := m.rangeAt(r.Ptr)
	if i < 0 || !(*m)[i].Contains(r) {
		return false
	}
	before, behind := (*m)[i], (*m)[i]
	before.Bytes = uint64(r.Ptr - before.Ptr)
	behind.Bytes = uint64(behind.End() - r.End())
	behind.Ptr = r.End()
	var rest []reservedRange
	for _, part := range []reservedRange{before, behind} {
		if part.Bytes > 0 {
			rest = append(rest, part)
		}
	}
	*m = slices.Replace(*m, i, i+1, rest...)
	return true
}

// reservedAtEnd is the memory of the segments of a snapshot on a device.
func reservedAtEnd(segments []spec.Segment, dev spec.Device) reservedMemory {
	var m reservedMemory
	for i := range segments {
		if s := &segments[i]; s.Device == dev {
			m.add(reservedRange{
				Range: spec.Range{Ptr: s.Address, Bytes: s.TotalSize}, stream: s.Stream,
				pool: s.Pool, kind: s.PoolKind, expandable: s.Expandable, poolKnown: true,
			})
		}
	}
	return m
}
