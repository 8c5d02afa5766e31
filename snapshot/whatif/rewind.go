package whatif

import (
	"slices"

	"github.com/tidwall/btree"

	"gaugeblock/model"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// The trace of a program that ran for long has lost its beginning: it is a ring. But
// the segments of the snapshot are the state at its end, and every entry can be
// undone, from the last to the first; what is left is the state at its start. If
// nothing is left the trace is whole.
//
// Undoing gives the memory that was held, and what of it was given out, with the
// size that was asked for. The size of the block around it is not in the trace, but
// it follows: in a small pool, and in expandable segments, a block is what rounding
// makes of the request; in a large one a rest of up to SmallSize stays with it. How
// large the rest was shows where the next block begins, now or at any time before the
// memory is freed.

// outstanding is memory that is given out, or freed and still used by a stream.
type outstanding struct {
	requested uint64
	block     uint64   // bytes; 0: not known
	next      spec.Ptr // the lowest place behind it at which something is given out; 0: none
	stream    spec.Stream
	pending   bool
}

// state is what is known at one place of the trace.
type state struct {
	memory heldMemory
	out    btree.Map[spec.Ptr, outstanding]
	wrong  int // entries that contradict what follows them
}

// stateAtEnd is what the segments of a snapshot say.
func stateAtEnd(f *snapshot.File, dev spec.Device) *state {
	s := &state{memory: memoryAtEnd(f.Segments, dev)}
	for i := range f.Segments {
		segment := &f.Segments[i]
		if segment.Device != dev {
			continue
		}
		for _, b := range segment.Blocks {
			if b.State != spec.Inactive {
				s.out.Set(b.Address, outstanding{
					requested: b.RequestedSize, block: b.Size,
					stream: segment.Stream, pending: b.State == spec.ActivePendingFree,
				})
			}
		}
	}
	return s
}

// undo goes back over an entry.
func (s *state) undo(e *snapshot.Entry) {
	o, isOut := s.out.Get(e.Addr)
	ok := true
	switch e.Action {
	case spec.ActionAlloc:
		ok = isOut && !o.pending
		s.out.Delete(e.Addr)
		s.noteNext(e.Addr)
	case spec.ActionFreeCompleted:
		ok = !isOut
		s.out.Set(e.Addr, outstanding{requested: e.Size, stream: e.Stream, pending: true})
	case spec.ActionFreeRequested:
		ok = isOut && o.pending
		s.out.Set(e.Addr, outstanding{requested: e.Size, block: o.block, next: o.next, stream: e.Stream})
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
		ok = s.memory.remove(spec.Range{Ptr: e.Addr, Bytes: e.Size})
	case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		s.memory.add(returnedRange(e))
	}
	if !ok {
		s.wrong++
	}
}

// noteNext notes, of what is out below an address, that something was given out there.
func (s *state) noteNext(p spec.Ptr) {
	var below spec.Ptr
	var o outstanding
	s.out.Descend(p, func(at spec.Ptr, found outstanding) bool {
		below, o = at, found
		return false
	})
	if below != 0 && o.block == 0 && (o.next == 0 || p < o.next) {
		o.next = p
		s.out.Set(below, o)
	}
}

// returnedRange is the memory that an entry says was returned.
func returnedRange(e *snapshot.Entry) heldRange {
	return heldRange{
		Range: spec.Range{Ptr: e.Addr, Bytes: e.Size}, stream: e.Stream,
		kind:       e.SegmentKind(),
		expandable: e.Action == spec.ActionSegmentUnmap,
		pool:       e.Context.Pool, poolKnown: e.Context.PoolKnown,
	}
}

// rewind undoes a whole trace.
func rewind(f *snapshot.File, dev spec.Device, trace []snapshot.Entry) *state {
	s := stateAtEnd(f, dev)
	for i := range slices.Backward(trace) {
		s.undo(&trace[i])
	}
	return s
}

// segments draws the state.
func (s *state) segments(dev spec.Device, cfg spec.Config) []spec.Segment {
	byAddress := s.out.Keys()
	var segments []spec.Segment
	for i := range s.memory {
		r := &s.memory[i]
		first, _ := slices.BinarySearch(byAddress, r.Ptr)
		end, _ := slices.BinarySearch(byAddress, r.End())
		segment := spec.Segment{
			Device: dev, Address: r.Ptr, TotalSize: r.Bytes, Stream: r.stream,
			Pool: r.pool, PoolKind: r.kind, Expandable: r.expandable,
		}
		for _, b := range s.blocks(r, byAddress[first:end], cfg) {
			if b.State != spec.Inactive {
				segment.ActiveSize += b.Size
				segment.RequestedSize += b.RequestedSize
			}
			if b.State == spec.ActiveAllocated {
				segment.AllocatedSize += b.Size
			}
			segment.Blocks = append(segment.Blocks, b)
		}
		segments = append(segments, segment)
	}
	return segments
}

// blocks draws one range, given the addresses in it at which something is out.
func (s *state) blocks(r *heldRange, at []spec.Ptr, cfg spec.Config) []spec.Block {
	var blocks []spec.Block
	end := r.Ptr
	free := func(to spec.Ptr) {
		if to > end {
			blocks = append(blocks, spec.Block{Address: end, Size: uint64(to - end), State: spec.Inactive})
		}
	}
	for i, p := range at {
		free(p)
		room := uint64(r.End() - p)
		if i+1 < len(at) {
			room = uint64(at[i+1] - p)
		}
		o, _ := s.out.Get(p)
		b := spec.Block{Address: p, Size: o.blockSize(p, r, room, cfg), RequestedSize: o.requested, State: spec.ActiveAllocated}
		if o.pending {
			b.State = spec.ActivePendingFree
		}
		blocks = append(blocks, b)
		end = p + spec.Ptr(b.Size)
	}
	free(r.End())
	return blocks
}

// blockSize is the size of the block around what is out at an address, behind which
// there is room for so many bytes before the next one.
func (o *outstanding) blockSize(p spec.Ptr, r *heldRange, room uint64, cfg spec.Config) uint64 {
	if o.block > 0 {
		return min(o.block, room)
	}
	g := spec.DefaultGeometry()
	size := model.Round(max(o.requested, 1), cfg, g)
	if size >= room || r.kind == spec.SmallPool || r.expandable {
		return min(size, room)
	}
	if o.next > p && o.next < p+spec.Ptr(room) {
		room = uint64(o.next - p)
	}
	if room-size <= g.SmallSize || size >= cfg.MaxSplitSize {
		return room
	}
	return size
}
