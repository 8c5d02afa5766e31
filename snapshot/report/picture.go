package report

import (
	"github.com/tidwall/btree"

	"gaugeblock/model"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// picture is what memory looks like at one place of a history: what is held from the
// driver, and what of it is given out. It starts as the history does, and takes in one
// entry after the other.
//
// An entry says what was asked for, not how large the block is that serves it. That
// follows: a block is what rounding makes of the request. In a plain large segment a
// rest that is not worth keeping stays with it.
type picture struct {
	config spec.Config
	held   btree.Map[spec.Ptr, held]
	blocks btree.Map[spec.Ptr, out]

	allocated, reserved uint64
}

// held is memory from the driver: a segment, or a part of an expandable one.
type held struct {
	bytes      uint64
	stream     spec.Stream
	pool       spec.PoolID
	kind       spec.PoolKind
	expandable bool
}

// out is a block that is given out, or was freed and is still used by a stream.
type out struct {
	bytes, requested uint64
	pending          bool
	entry            int // that gave it out, -1 before the history
	stack            snapshot.Stack
}

// newPicture begins with the given segments.
func newPicture(segments []spec.Segment, config spec.Config) *picture {
	p := &picture{config: config}
	for i := range segments {
		s := &segments[i]
		p.hold(s.Address, held{s.TotalSize, s.Stream, s.Pool, s.PoolKind, s.Expandable})
		for _, b := range s.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			stack, _ := b.Context.(snapshot.Stack)
			p.blocks.Set(b.Address, out{b.Size, b.RequestedSize, b.State == spec.ActivePendingFree, -1, stack})
			if b.State == spec.ActiveAllocated {
				p.allocated += b.Size
			}
		}
	}
	return p
}

// add takes in the next entry of the history.
func (p *picture) add(entry int, e *snapshot.Entry) {
	switch e.Action {
	case spec.ActionAlloc:
		b := out{p.blockSize(e), e.Size, false, entry, e.Context.Stack}
		p.blocks.Set(e.Addr, b)
		p.allocated += b.bytes
	case spec.ActionFreeRequested:
		if b, isOut := p.blocks.Get(e.Addr); isOut && !b.pending {
			b.pending = true
			p.blocks.Set(e.Addr, b)
			p.allocated -= b.bytes
		}
	case spec.ActionFreeCompleted:
		p.blocks.Delete(e.Addr)
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		p.hold(e.Addr, held{
			e.Size, e.Stream, e.Context.Pool, e.SegmentKind(), e.Action == spec.ActionSegmentMap,
		})
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		p.giveBack(e.Addr, e.Size)
	}
}

func (p *picture) hold(at spec.Ptr, h held) {
	p.held.Set(at, h)
	p.reserved += h.bytes
}

// giveBack takes a range out, which may be a part of one that is held, or several.
func (p *picture) giveBack(at spec.Ptr, bytes uint64) {
	end := at + spec.Ptr(bytes)
	for at < end {
		start, h, found := p.around(at)
		if !found {
			return // the history contradicts itself; see whatif's Unknown
		}
		stop := min(end, start+spec.Ptr(h.bytes))
		p.held.Delete(start)
		p.reserved -= h.bytes
		if before := uint64(at - start); before > 0 {
			p.hold(start, held{before, h.stream, h.pool, h.kind, h.expandable})
		}
		if behind := uint64(start + spec.Ptr(h.bytes) - stop); behind > 0 {
			p.hold(stop, held{behind, h.stream, h.pool, h.kind, h.expandable})
		}
		at = stop
	}
}

// around is what is held at an address.
func (p *picture) around(at spec.Ptr) (start spec.Ptr, h held, found bool) {
	p.held.Descend(at, func(s spec.Ptr, candidate held) bool {
		start, h, found = s, candidate, at < s+spec.Ptr(candidate.bytes)
		return false
	})
	return start, h, found
}

// blockSize is the size of the block that serves a request.
func (p *picture) blockSize(e *snapshot.Entry) uint64 {
	g := spec.DefaultGeometry()
	size := model.Round(max(e.Size, 1), p.config, g)
	start, h, found := p.around(e.Addr)
	if !found || h.expandable || h.kind == spec.SmallPool {
		return size
	}
	next := start + spec.Ptr(h.bytes)
	p.blocks.Ascend(e.Addr+1, func(at spec.Ptr, _ out) bool {
		next = min(next, at)
		return false
	})
	rest := uint64(next-e.Addr) - min(size, uint64(next-e.Addr))
	if rest <= g.SmallSize || size >= p.config.MaxSplitSize {
		size += rest
	}
	return size
}
