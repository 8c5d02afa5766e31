package conformance

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// meter is the fake device, with a count of what is asked of its memory.
type meter struct {
	*fakegpu.GPU
	asked, gave int          // successful calls
	pieces      []spec.Range // memory of Malloc, and reserved ranges
}

// inOnePiece reports whether a range lies in one.
func (m *meter) inOnePiece(r spec.Range) bool {
	return slices.ContainsFunc(m.pieces, func(p spec.Range) bool { return p.Contains(r) })
}

func (m *meter) lose(p spec.Ptr) {
	m.pieces = slices.DeleteFunc(m.pieces, func(r spec.Range) bool { return r.Ptr == p })
}

// Malloc counts.
func (m *meter) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	p, err := m.GPU.Malloc(dev, bytes)
	if err == nil {
		m.asked++
		m.pieces = append(m.pieces, spec.Range{Ptr: p, Bytes: bytes})
	}
	return p, err
}

// Free counts.
func (m *meter) Free(dev spec.Device, p spec.Ptr) error {
	err := m.GPU.Free(dev, p)
	if err == nil {
		m.gave++
		m.lose(p)
	}
	return err
}

// ReserveAddress counts no memory, but is where pieces of it will be side by side.
func (m *meter) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	p, err := m.GPU.ReserveAddress(dev, bytes)
	if err == nil {
		m.pieces = append(m.pieces, spec.Range{Ptr: p, Bytes: bytes})
	}
	return p, err
}

// FreeAddress forgets a range.
func (m *meter) FreeAddress(p spec.Ptr, bytes uint64) error {
	err := m.GPU.FreeAddress(p, bytes)
	if err == nil {
		m.lose(p)
	}
	return err
}

// CreatePage counts.
func (m *meter) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	page, err := m.GPU.CreatePage(dev, bytes, share)
	if err == nil {
		m.asked++
	}
	return page, err
}

// UnmapPage counts.
func (m *meter) UnmapPage(p spec.Ptr, bytes uint64) error {
	err := m.GPU.UnmapPage(p, bytes)
	if err == nil {
		m.gave++
	}
	return err
}
