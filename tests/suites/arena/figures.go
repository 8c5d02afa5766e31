package arena

import "gaugeblock/spec"

// The caches keep two figures, and the contract has more. The others are counted anew
// after every operation, from the blocks; what has come and what has gone is the
// difference to the time before.

// counted are the figures of one kind of size, as they are now.
type counted struct {
	allocation, segment, active, split                    int64
	allocatedBytes, activeBytes, splitBytes, requestBytes int64
	reservedBytes                                         int64
}

// recount brings the statistics up to date. What is held from the driver is what the
// cache says. What it has lost count of is taken from the small pieces first: the cache
// does not tell them apart.
func (d *deviceUser[C]) recount() {
	var kinds [2]counted
	for _, piece := range d.pieces {
		d.count(piece, &kinds)
	}
	lost := kinds[spec.SmallPool].reservedBytes + kinds[spec.LargePool].reservedBytes - int64(d.cache.view().reserved)
	small := &kinds[spec.SmallPool]
	fromSmall := min(lost, small.reservedBytes-small.activeBytes)
	small.reservedBytes -= fromSmall
	kinds[spec.LargePool].reservedBytes -= lost - fromSmall
	for _, kind := range []spec.PoolKind{spec.SmallPool, spec.LargePool} {
		now, s := kinds[kind], &d.stats
		for _, f := range []struct {
			stat *spec.StatArray
			now  int64
		}{
			{&s.Allocation, now.allocation}, {&s.Segment, now.segment}, {&s.Active, now.active}, {&s.InactiveSplit, now.split},
			{&s.AllocatedBytes, now.allocatedBytes}, {&s.ActiveBytes, now.activeBytes}, {&s.InactiveSplitBytes, now.splitBytes},
			{&s.RequestedBytes, now.requestBytes}, {&s.ReservedBytes, now.reservedBytes},
		} {
			change(f.stat, kind, f.now)
		}
	}
}

// change makes a figure what it is now.
func change(a *spec.StatArray, kind spec.PoolKind, now int64) {
	if was := a[kind.StatType()].Current; now > was {
		a.Increase(kind, now-was)
	} else if now < was {
		a.Decrease(kind, was-now)
	}
}

// count adds a piece and its blocks.
func (d *deviceUser[C]) count(piece spec.Range, kinds *[2]counted) {
	list, blocks := d.cache.view().list, d.blocksOf(piece)
	for n, i := range blocks {
		b := &list[i]
		k := &kinds[b.kind()]
		if n == 0 {
			k.segment++
			k.reservedBytes += int64(piece.Bytes)
		}
		if b.allocated {
			k.allocation++
			k.allocatedBytes += int64(b.size)
		}
		if b.allocated || d.isHeld(i) {
			k.active++
			k.activeBytes += int64(b.size)
			k.requestBytes += int64(d.asked[i])
		} else if len(blocks) > 1 {
			k.split++
			k.splitBytes += int64(b.size)
		}
	}
}

func (d *deviceUser[C]) isHeld(i int) bool {
	for _, h := range d.held {
		if h.index == i {
			return true
		}
	}
	return false
}

// Stats implements spec.Allocator.
func (u *user[C]) Stats(dev spec.Device) (spec.DeviceStats, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	d, err := u.device("statistics", dev)
	if err != nil {
		return spec.DeviceStats{}, err
	}
	return d.stats, nil
}
