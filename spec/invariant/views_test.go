package invariant_test

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// The views of a good allocator in its other forms: lists and snapshot made of
// blocks, and blocks made of a snapshot.

// fillLists puts every block on the list it belongs to.
func (v *views) fillLists() {
	v.free, v.unmapped = nil, nil
	for _, b := range v.blocks {
		switch {
		case !b.Mapped:
			v.unmapped = append(v.unmapped, b)
		case b.State() == spec.Inactive:
			v.free = append(v.free, b)
		}
	}
	slices.SortFunc(v.free, func(a, b spec.BlockView) int {
		return cmp.Or(byPool(a, b), cmp.Compare(a.Size, b.Size), cmp.Compare(a.Address, b.Address))
	})
	slices.SortFunc(v.unmapped, func(a, b spec.BlockView) int {
		return cmp.Or(byPool(a, b), cmp.Compare(a.Address, b.Address))
	})
}

func byPool(a, b spec.BlockView) int {
	return cmp.Or(cmp.Compare(a.Pool.Capture, b.Pool.Capture), cmp.Compare(a.Pool.User, b.Pool.User),
		cmp.Compare(a.PoolKind, b.PoolKind), cmp.Compare(a.Stream, b.Stream))
}

// snapshot draws the blocks that have memory.
func (v *views) snapshot() spec.Snapshot {
	var s spec.Snapshot
	var end spec.Ptr
	for _, b := range v.blocks {
		if !b.Mapped {
			continue
		}
		if b.First || b.Address != end {
			s.Segments = append(s.Segments, spec.Segment{
				Address: b.Address, Stream: b.Stream, Pool: b.Pool, PoolKind: b.PoolKind, Expandable: b.Expandable,
			})
		}
		end = b.Address + spec.Ptr(b.Size)
		g := &s.Segments[len(s.Segments)-1]
		g.Blocks = append(g.Blocks, spec.Block{
			Address: b.Address, Size: b.Size, RequestedSize: b.RequestedSize, State: b.State(),
		})
		g.TotalSize += b.Size
		if b.Allocated {
			g.AllocatedSize += b.Size
		}
		if b.State() != spec.Inactive {
			g.ActiveSize += b.Size
			g.RequestedSize += b.RequestedSize
		}
	}
	return s
}

// viewsOf is an Inspector that shows one device of a snapshot. What a snapshot does
// not say is made up: each block that waits does so for one event.
func viewsOf(s *spec.Snapshot, dev spec.Device) *views {
	v := &views{}
	for _, g := range s.Segments {
		if g.Device != dev {
			continue
		}
		known := func(p spec.PoolView) bool { return p.ID == g.Pool }
		if !slices.ContainsFunc(v.pools, known) {
			// Whether the pool splits is not known; this says nothing wrong.
			v.pools = append(v.pools, spec.PoolView{ID: g.Pool, UseCount: 1, NoSplit: true})
		}
		var blocks []spec.BlockView
		for _, b := range g.Blocks {
			view := spec.BlockView{
				Size: b.Size, RequestedSize: b.RequestedSize, Mapped: true, Allocated: b.State == spec.ActiveAllocated,
			}
			if b.State == spec.ActivePendingFree {
				view.EventCount = 1
				v.pending = append(v.pending, spec.PendingEventView{Block: b.Address})
			}
			blocks = append(blocks, view)
		}
		v.segment(spec.BlockView{
			Address: g.Address, Stream: g.Stream, Pool: g.Pool, PoolKind: g.PoolKind, Expandable: g.Expandable,
		}, blocks...)
	}
	v.fillLists()
	return v
}
