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
	backed      []spec.Range // memory of Malloc, and mapped pages
	pools       []spec.Range // of the pieces, those of the driver's own pools
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
	case "ReserveForPool":
		m.pools = append(m.pools, piece)
	case "MapPage":
		m.backed = append(m.backed, piece)
	case "Free":
		if c.Ptr != 0 { // of nothing
			m.gave++
		}
		m.lose(c.Ptr)
	case "FreeAddress":
		m.lose(c.Ptr)
	case "UnmapPage":
		m.gave++
		m.backed = slices.DeleteFunc(m.backed, func(r spec.Range) bool { return r == piece })
	}
}

// inOnePiece reports whether a range lies in one.
func (m *meter) inOnePiece(r spec.Range) bool {
	return slices.ContainsFunc(m.pieces, func(p spec.Range) bool { return p.Contains(r) })
}

func (m *meter) lose(p spec.Ptr) {
	there := func(r spec.Range) bool { return r.Ptr == p }
	for _, list := range []*[]spec.Range{&m.pieces, &m.backed, &m.pools} {
		*list = slices.DeleteFunc(*list, there)
	}
}

// without is how many bytes are in pieces that have none of the memory, and that the allocator can
// give back: what is in a pool of the driver's, the driver gives back.
func (m *meter) without(allocated []*memory) (bytes uint64) {
	for _, piece := range m.pieces {
		if slices.Contains(m.pools, piece) || slices.ContainsFunc(allocated, func(a *memory) bool { return piece.Overlaps(spec.Range{Ptr: a.ptr, Bytes: a.size}) }) {
			continue
		}
		for _, r := range m.backed {
			if piece.Contains(r) {
				bytes += r.Bytes
			}
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
