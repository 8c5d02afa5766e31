package conformance

import (
	"errors"
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// meter hears what is asked of the memory of a fake device.
type meter struct {
	asked, gave int          // calls that have succeeded: for memory, and to return it
	refused     int          // calls for memory that failed for lack of it
	pieces      []spec.Range // memory of Malloc, and reserved ranges
	backed      []spec.Range // memory of Malloc
}

// hear counts a call.
func (m *meter) hear(c fakegpu.MemoryCall) {
	if c.Err != nil {
		if errors.Is(c.Err, spec.ErrDriverOutOfMemory) {
			m.refused++
		}
		return
	}
	piece := spec.Range{Ptr: c.Ptr, Bytes: c.Bytes}
	switch c.Call {
	case "Malloc":
		m.asked++
		m.pieces, m.backed = append(m.pieces, piece), append(m.backed, piece)
	case "ReserveAddress": // no memory, but where pieces of it will be side by side
		m.pieces = append(m.pieces, piece)
	case "CreatePage":
		m.asked++
	case "Free":
		if c.Ptr != 0 { // of nothing
			m.gave++
		}
		m.lose(c.Ptr)
	case "FreeAddress":
		m.lose(c.Ptr)
	case "UnmapPage":
		m.gave++
	}
}

// inOnePiece reports whether a range lies in one.
func (m *meter) inOnePiece(r spec.Range) bool {
	return slices.ContainsFunc(m.pieces, func(p spec.Range) bool { return p.Contains(r) })
}

func (m *meter) lose(p spec.Ptr) {
	there := func(r spec.Range) bool { return r.Ptr == p }
	m.pieces, m.backed = slices.DeleteFunc(m.pieces, there), slices.DeleteFunc(m.backed, there)
}

// without is how many bytes of Malloc are in pieces that have none of the memory.
func (m *meter) without(allocated []*memory) (bytes uint64) {
	for _, piece := range m.backed {
		if !slices.ContainsFunc(allocated, func(a *memory) bool { return piece.Overlaps(spec.Range{Ptr: a.ptr, Bytes: a.size}) }) {
			bytes += piece.Bytes
		}
	}
	return bytes
}

// listening makes a factory whose allocators' calls are heard, from the first one on.
func (m *meter) listening(factory perform.Factory) perform.Factory {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		if gpu, tells := driver.(interface {
			OnMemoryCall(func(fakegpu.MemoryCall))
		}); tells {
			gpu.OnMemoryCall(m.hear)
		}
		return factory(driver, h)
	}
}
