package play

import (
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// addressGaps are the addresses of the measured driver in a process whose address space
// has gaps. The driver takes address space in chunks (fakegpu/address_real.go). The first
// chunks are in gaps between other mappings of the process, such as libraries, in no
// order of address. The others are below them, each below the last.
type addressGaps struct {
	fakegpu.AddressPolicy
	gaps   int          // that are left
	chunks []movedChunk // those in gaps, gapCount at most
}

// movedChunk is a chunk. Its address is that of the measured driver plus the distance.
type movedChunk struct {
	spec.Range
	distance spec.Ptr
	used     uint64 // bytes that are allocated
}

const (
	driverChunk = 32 * spec.MiB
	// gapBytes is larger than any chunk.
	gapBytes = 1 << 48
	gapCount = 16
)

func withAddressGaps() fakegpu.AddressPolicy {
	return &addressGaps{AddressPolicy: realLike(), gaps: gapCount}
}

func (c *addressGaps) Place(bytes uint64) spec.Ptr {
	p := c.AddressPolicy.Place(bytes)
	i := slices.IndexFunc(c.chunks, func(m movedChunk) bool { return m.Ptr <= p && p < m.End() })
	if i < 0 && c.gaps == 0 {
		return p
	}
	if i < 0 {
		i = len(c.chunks)
		size := (bytes + driverChunk - 1) / driverChunk * driverChunk
		c.chunks = append(c.chunks, movedChunk{Range: spec.Range{Ptr: p, Bytes: size}, distance: c.nextGap()})
	}
	c.chunks[i].used += bytes
	return p + c.chunks[i].distance
}

// nextGap returns the distance to the next gap, of which there is one. The order is not that
// of the addresses.
func (c *addressGaps) nextGap() spec.Ptr {
	c.gaps--
	return spec.Ptr(1+c.gaps*7%gapCount) * gapBytes
}

func (c *addressGaps) Vacate(p spec.Ptr, bytes uint64) {
	i := slices.IndexFunc(c.chunks, func(m movedChunk) bool { return m.Ptr+m.distance <= p && p < m.End()+m.distance })
	if i < 0 {
		c.AddressPolicy.Vacate(p, bytes)
		return
	}
	c.AddressPolicy.Vacate(p-c.chunks[i].distance, bytes)
	if c.chunks[i].used -= bytes; c.chunks[i].used == 0 { // the driver unmaps it
		c.chunks = slices.Delete(c.chunks, i, i+1)
	}
}
