package arena

import "gaugeblock/spec"

// Snapshot implements spec.Allocator.
func (u *user[C]) Snapshot() (spec.Snapshot, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := spec.Snapshot{Config: spec.DefaultConfig(spec.DefaultGeometry())}
	for _, d := range u.devices {
		for _, segment := range d.segments {
			s.Segments = append(s.Segments, d.snapshotOf(segment))
		}
	}
	return s, nil
}

func (d *deviceUser[C]) snapshotOf(segment spec.Range) spec.Segment {
	g := spec.Segment{Device: d.number, Address: segment.Ptr, TotalSize: segment.Bytes}
	d.each(segment, func(v *spec.BlockView) {
		g.Stream, g.PoolKind = v.Stream, v.PoolKind
		state := v.State()
		if state == spec.ActiveAllocated {
			g.AllocatedSize += v.Size
		}
		if state != spec.Inactive {
			g.ActiveSize += v.Size
			g.RequestedSize += v.RequestedSize
		}
		g.Blocks = append(g.Blocks, spec.Block{Address: v.Address, Size: v.Size, RequestedSize: v.RequestedSize, State: state})
	})
	return g
}

// each calls show for the blocks of a segment.
func (d *deviceUser[C]) each(segment spec.Range, show func(*spec.BlockView)) {
	blocks := d.blocksIn(segment)
	for n, i := range blocks {
		v := d.view(i)
		v.First, v.Last = n == 0, n == len(blocks)-1
		show(&v)
	}
}

// view is a block as an inspector sees it. A pending block has events and no more stream
// uses.
func (d *deviceUser[C]) view(i int) spec.BlockView {
	b := &d.cache.view().list[i]
	v := spec.BlockView{
		Address: b.ptr, Size: b.size, RequestedSize: d.requested[i], Stream: b.stream,
		PoolKind: b.kind(), Allocated: b.allocated, Mapped: true,
	}
	if b.allocated {
		v.StreamUses = len(b.streamUses)
	}
	for _, h := range d.pending {
		if h.index == i {
			v.EventCount = len(h.events)
		}
	}
	return v
}

// Inspect implements spec.Inspector.
func (u *user[C]) Inspect(dev spec.Device, v spec.Visitor) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.device("inspect", dev)
	if err != nil {
		return err
	}
	if v.Pool != nil {
		v.Pool(&spec.PoolView{DriverSegments: len(d.segments)})
	}
	if v.Block != nil {
		for _, segment := range d.segments {
			d.each(segment, v.Block)
		}
	}
	if v.Free != nil {
		c := d.cache.view()
		for _, pool := range []freePool{c.small, c.large} {
			pool.blocks.Scan(func(k blockKey) bool {
				b := d.view(k.index)
				v.Free(&b)
				return true
			})
		}
	}
	if v.PendingEvent != nil {
		for _, h := range d.pending {
			for n, e := range h.events {
				v.PendingEvent(&spec.PendingEventView{Stream: h.uses[n].stream, Device: h.uses[n].device, Event: e, Block: d.cache.view().list[h.index].ptr})
			}
		}
	}
	return nil
}
