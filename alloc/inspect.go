package alloc

import "gaugeblock/spec"

// Inspect shows a checker the device's own structures, in place (spec.Inspector).
// It takes the lock.
func (a *Allocator) Inspect(dev spec.Device, v spec.Visitor) error {
	d, err := a.device("inspect", dev)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inspectBlocks(&v)
	d.inspectPool(d.pool, &v)
	for _, p := range d.private.byID() {
		d.inspectPool(p, &v)
	}
	d.inspectUses(&v)
	d.inspectPending(&v)
	d.inspectCaptures(&v)
	return nil
}

func (d *device) inspectBlocks(v *spec.Visitor) {
	if v.Block == nil {
		return
	}
	var view spec.BlockView
	for _, s := range d.segments {
		for b := s.head; b != nil; b = b.next {
			d.show(b, &view)
			v.Block(&view)
		}
	}
}

func (d *device) inspectUses(v *spec.Visitor) {
	if v.StreamUse == nil {
		return
	}
	for _, s := range d.segments {
		for b := s.head; b != nil; b = b.next {
			for _, u := range b.uses {
				v.StreamUse(&spec.StreamUseView{
					Block: b.ptr, Stream: spec.DeviceStream{Device: u.device, Stream: u.stream}, Captured: u.captured,
				})
			}
		}
	}
}

func (d *device) inspectPool(p *pool, v *spec.Visitor) {
	if v.Pool != nil {
		v.Pool(&spec.PoolView{
			ID: p.id, UseCount: p.useCount, DriverSegments: p.driverSegments,
			Freeable: p != d.pool && p.useCount == 0, UseOnOOM: p.useOnOOM, NoSplit: p.noSplit,
		})
	}
	for _, half := range [...]*blockPool{&p.small, &p.large} {
		d.inspectList(&half.free, v.Free)
		d.inspectList(&half.unmapped, v.Unmapped)
	}
}

func (d *device) inspectList(list *blockSet, visit func(*spec.BlockView)) {
	if visit == nil {
		return
	}
	var view spec.BlockView
	for b := range list.all() {
		d.show(b, &view)
		visit(&view)
	}
}

func (d *device) inspectCaptures(v *spec.Visitor) {
	if v.DeferredFree != nil {
		for _, f := range d.deferred {
			v.DeferredFree(&spec.DeferredFreeView{Block: f.block.ptr, Markers: len(f.markers)})
		}
	}
	if v.Routing != nil {
		for _, r := range d.redirections {
			v.Routing(r.pool.id)
		}
	}
}

func (d *device) inspectPending(v *spec.Visitor) {
	if v.PendingEvent == nil {
		return
	}
	for _, q := range d.pending {
		for _, e := range q.events {
			v.PendingEvent(&spec.PendingEventView{Stream: q.use.stream, Device: q.use.device, Event: e.event, Block: e.block.ptr})
		}
	}
}

// show fills a view with what is known of a block.
func (d *device) show(b *block, view *spec.BlockView) {
	*view = spec.BlockView{
		Address: b.ptr, Size: b.size, RequestedSize: b.requested,
		Stream: b.stream, Pool: b.pool.owner.id, PoolKind: b.pool.kind,
		Allocated: b.allocated, Mapped: b.mapped, Expandable: !b.plain(),
		EventCount: int(b.events), StreamUses: len(b.uses),
		First: b.prev == nil, Last: b.next == nil,
		Age: b.pool.age(b),
	}
}
