package invariant

import "gaugeblock/spec"

// blockCount is a recount of what the statistics say about the pools of one kind:
// the right-hand sides of the equations in stats.go.
type blockCount struct {
	allocated     int64
	segments      int64
	active        int64
	inactiveSplit int64

	allocatedBytes     int64
	reservedBytes      int64
	activeBytes        int64
	inactiveSplitBytes int64
	requestedBytes     int64
}

// stats is the recount in the order of DeviceStats.arrays.
func (c *blockCount) stats() [9]int64 {
	return [9]int64{
		c.allocated, c.segments, c.active, c.inactiveSplit,
		c.allocatedBytes, c.reservedBytes, c.activeBytes, c.inactiveSplitBytes, c.requestedBytes,
	}
}

// ofKind is the count of the small or the large pools.
func (w *blockWalk) ofKind(kind spec.PoolKind) *blockCount {
	if kind == spec.LargePool {
		return &w.large
	}
	return &w.small
}

// count adds a block. Segments and the bytes held from the driver are added where
// a segment ends.
func (w *blockWalk) count(b *spec.BlockView, free, mapped bool) {
	c := w.ofKind(b.PoolKind)
	size := int64(b.Size)
	if b.Allocated {
		c.allocated++
		c.allocatedBytes += size
	}
	switch {
	case !free:
		c.active++
		c.activeBytes += size
		c.requestedBytes += int64(b.RequestedSize)
	case !b.Expandable && !(b.First && b.Last):
		c.inactiveSplit++
		c.inactiveSplitBytes += size
	}
}

// compare holds the statistics against the count: invariant 8.
func (w *blockWalk) compare(stats *spec.DeviceStats) {
	if stats == nil {
		return
	}
	small, large := w.small.stats(), w.large.stats()
	for i, stat := range stats.Arrays() {
		counted := [spec.NumStatTypes]int64{
			spec.Aggregate:     small[i] + large[i],
			spec.StatSmallPool: small[i],
			spec.StatLargePool: large[i],
		}
		for t, n := range counted {
			if current := stat.Array[t].Current; current != n {
				w.report.add(accountingAddsUp, w.device, 0,
					"%s.%v.current is %d, a recount of the blocks gives %d", stat.Name, spec.StatType(t), current, n)
			}
		}
	}
}
