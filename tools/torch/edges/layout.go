package edges

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// A Layout is the mapped blocks of an allocator, by address, in units: what a snapshot shows.
type Layout []block

// block is a block, with its segment's stream and pool.
type block struct {
	unit, units uint64
	requested   uint64 // 0 if it is inactive
	state       spec.BlockState
	stream      int // its number
	pool        uint64
	kind        spec.PoolKind
}

// Of appends the layout of a state of the model.
func (l Layout) Of(s *bounded.State) Layout {
	for i := range s.Segments {
		g := &s.Segments[i]
		for j := range g.Blocks {
			b := &g.Blocks[j]
			if b.Unmapped {
				continue
			}
			l = append(l, block{
				unit: uint64(b.Address - bounded.AddressBase), units: b.Size, requested: whileActive(b.RequestedSize, b.State),
				state: b.State, stream: int(g.Stream), pool: g.Pool.Capture, kind: g.PoolKind,
			})
		}
	}
	return l
}

// whileActive is what was requested of a block, which a block that is inactive has no more.
func whileActive(requested uint64, state spec.BlockState) uint64 {
	if state == spec.Inactive {
		return 0
	}
	return requested
}

// Seen appends the layout that a snapshot shows of an allocator on the device. It is an error if a
// size or an address is no whole number of units. streams are the handles by number.
func (l Layout) Seen(d *Device, segments []spec.Segment, streams []spec.Stream) (Layout, error) {
	for i := range segments {
		g := &segments[i]
		unit := d.scale.Large
		if g.PoolKind == spec.SmallPool {
			unit = d.scale.Small
		}
		in, found := d.around(g.Address)
		if !found {
			return l, fmt.Errorf("the segment at %v is not on the device", g.Address)
		}
		for _, b := range g.Blocks {
			if b.Size == in.Bytes { // all of it, which need not be whole units of its kind
				l = append(l, d.scale.seen(g, &b, in.unit, in.units, streams))
				continue
			}
			offset, end := uint64(b.Address-in.Ptr)*unit.Units, (uint64(b.Address-in.Ptr)+b.Size)*unit.Units
			if offset%unit.Bytes != 0 || end%unit.Bytes != 0 {
				return l, fmt.Errorf("the block of %d bytes at %v is no whole number of units", b.Size, b.Address)
			}
			l = append(l, d.scale.seen(g, &b, in.unit+offset/unit.Bytes, (end-offset)/unit.Bytes, streams))
		}
	}
	slices.SortFunc(l, func(a, b block) int { return int(a.unit) - int(b.unit) })
	return l, nil
}

// seen is a block of a segment, whose length is in units.
func (s *Scale) seen(g *spec.Segment, b *spec.Block, unit, units uint64, streams []spec.Stream) block {
	kind := g.PoolKind
	if s.CountAsSmall {
		kind = spec.SmallPool
	}
	return block{
		unit: unit, units: units, state: b.State, stream: slices.Index(streams, g.Stream), pool: g.Pool.Capture, kind: kind,
		requested: s.requested(whileActive(b.RequestedSize, b.State), b.Size, units),
	}
}

// requested is in units what was requested of a block. After a restore that is all of it.
func (s *Scale) requested(bytes, size, units uint64) uint64 {
	for _, r := range s.Requests {
		if r.Bytes == bytes {
			return r.Units
		}
	}
	if bytes == size {
		return units
	}
	return bytes
}

// Hash is a hash of the layout, never 0.
func (l Layout) Hash() uint64 {
	h := fnv.New64a()
	var room [8]byte
	for _, b := range l {
		for _, n := range []uint64{b.unit, b.units, b.requested, uint64(b.state), uint64(b.stream), b.pool, uint64(b.kind)} {
			h.Write(binary.LittleEndian.AppendUint64(room[:0], n))
		}
	}
	return max(1, h.Sum64())
}

// String is the layout in words.
func (l Layout) String() string {
	var text strings.Builder
	for i, b := range l {
		if i > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%v %d at %d (%d requested, stream %d, pool %d, %v)", b.state, b.units, b.unit, b.requested, b.stream, b.pool, b.kind)
	}
	return "[" + text.String() + "]"
}
