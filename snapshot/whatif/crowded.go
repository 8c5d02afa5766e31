package whatif

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// The driver takes address space in chunks (fakegpu/address_real.go), and puts each
// into a gap between what else the process has mapped: libraries, other allocations.
// A program that has just started has gaps in no order; later chunks lie below each
// other. crowded is the measured driver in such an address space: its first chunks
// lie anywhere above the others.
type crowded struct {
	fakegpu.AddressPolicy
	gaps   int // how many are left
	chunks []movedChunk
}

// movedChunk is a chunk, and how far above its place it lies.
type movedChunk struct {
	spec.Range
	distance spec.Ptr
	used     uint64 // bytes
}

const (
	driverChunk = 32 * spec.MiB
	// gapBytes is more than any chunk has.
	gapBytes = 1 << 48
	gapCount = 16
)

func newCrowded() fakegpu.AddressPolicy { return &crowded{AddressPolicy: realLike(), gaps: gapCount} }

func (c *crowded) Place(bytes uint64) spec.Ptr {
	p := c.AddressPolicy.Place(bytes)
	i := slices.IndexFunc(c.chunks, func(m movedChunk) bool { return m.Ptr <= p && p < m.End() })
	if i < 0 {
		i = len(c.chunks)
		size := (bytes + driverChunk - 1) / driverChunk * driverChunk
		c.chunks = append(c.chunks, movedChunk{Range: spec.Range{Ptr: p, Bytes: size}, distance: c.nextGap()})
	}
	c.chunks[i].used += bytes
	return p + c.chunks[i].distance
}

// nextGap gives the gaps in an order that has nothing to do with their addresses.
func (c *crowded) nextGap() spec.Ptr {
	if c.gaps == 0 {
		return 0
	}
	c.gaps--
	return spec.Ptr(1+c.gaps*7%gapCount) * gapBytes
}

func (c *crowded) Vacate(p spec.Ptr, bytes uint64) {
	i := slices.IndexFunc(c.chunks, func(m movedChunk) bool { return m.Ptr+m.distance <= p && p < m.End()+m.distance })
	c.AddressPolicy.Vacate(p-c.chunks[i].distance, bytes)
	if c.chunks[i].used -= bytes; c.chunks[i].used == 0 { // the driver gives it up
		c.chunks = slices.Delete(c.chunks, i, i+1)
	}
}
