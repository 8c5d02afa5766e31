package arena

import "gaugeblock/spec"

// The caches keep two statistics, and the contract has more. The others are recounted after
// every operation, from the blocks. What was allocated and freed is the difference.

// statistics are the current statistics of the small or the large pool.
type statistics struct {
	allocation, segment, active, split                    int64
	allocatedBytes, activeBytes, splitBytes, requestBytes int64
	reservedBytes                                         int64
}

// recount updates the statistics. The reserved bytes are those of the cache. If they are
// too few, the difference is subtracted from the small segments first: the cache does not
// tell them apart.
func (d *deviceUser[C]) recount() {
	var kinds [2]statistics
	for _, segment := range d.segments {
		d.count(segment, &kinds)
	}
	missing := kinds[spec.SmallPool].reservedBytes + kinds[spec.LargePool].reservedBytes - int64(d.cache.view().reserved)
	small := &kinds[spec.SmallPool]
	fromSmall := min(missing, small.reservedBytes-small.activeBytes)
	small.reservedBytes -= fromSmall
	kinds[spec.LargePool].reservedBytes -= missing - fromSmall
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

// change sets a statistic to its current value.
func change(a *spec.StatArray, kind spec.PoolKind, now int64) {
	if was := a[kind.StatType()].Current; now > was {
		a.Increase(kind, now-was)
	} else if now < was {
		a.Decrease(kind, was-now)
	}
}

// count counts a segment and its blocks.
func (d *deviceUser[C]) count(segment spec.Range, kinds *[2]statistics) {
	list, blocks := d.cache.view().list, d.blocksIn(segment)
	for n, i := range blocks {
		b := &list[i]
		k := &kinds[b.kind()]
		if n == 0 {
			k.segment++
			k.reservedBytes += int64(segment.Bytes)
		}
		if b.allocated {
			k.allocation++
			k.allocatedBytes += int64(b.size)
		}
		if b.allocated || d.isPending(i) {
			k.active++
			k.activeBytes += int64(b.size)
			k.requestBytes += int64(d.requested[i])
		} else if len(blocks) > 1 {
			k.split++
			k.splitBytes += int64(b.size)
		}
	}
}

func (d *deviceUser[C]) isPending(i int) bool {
	for _, h := range d.pending {
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
