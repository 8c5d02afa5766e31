package alloc

import (
	"fmt"
	"maps"
	"slices"

	"gaugeblock/spec"
)

// Stats returns the device's statistics.
func (a *Allocator) Stats(dev spec.Device) (stats spec.DeviceStats, err error) {
	err = a.onDevice("stats", dev, func(d *device) error {
		stats = d.statsLocked()
		return nil
	})
	return stats, err
}

func (d *device) statsLocked() spec.DeviceStats {
	stats := d.stats
	d.blockStats.fill(&stats)
	return stats
}

// moreStats are the statistics that not every release of PyTorch has.
type moreStats struct {
	numOOMRejections int64
	reservedByPool   map[spec.PoolID]*spec.StatArray // of private pools
}

// MoreStats returns the statistics that not every release of PyTorch has; see
// spec.MoreStatsInformer.
func (a *Allocator) MoreStats(dev spec.Device) (stats spec.MoreStats, err error) {
	err = a.onDevice("more_stats", dev, func(d *device) error {
		stats.NumOOMRejections = d.moreStats.numOOMRejections
		for _, id := range slices.SortedFunc(maps.Keys(d.moreStats.reservedByPool), compareIDs) {
			reserved := *d.moreStats.reservedByPool[id]
			stats.ReservedByPool = append(stats.ReservedByPool, spec.PoolMemoryStats{Pool: id, ReservedBytes: reserved})
		}
		return nil
	})
	return stats, err
}

// increaseReservedLocked counts that memory was obtained for a block pool.
func (d *device) increaseReservedLocked(p *blockPool, bytes uint64) {
	d.stats.ReservedBytes.Increase(p.kind, int64(bytes))
	if s := d.reservedByPoolLocked(p.owner); s != nil {
		s.Increase(p.kind, int64(bytes))
	}
}

// decreaseReservedLocked counts that memory of a block pool was returned.
func (d *device) decreaseReservedLocked(p *blockPool, bytes uint64) {
	d.stats.ReservedBytes.Decrease(p.kind, int64(bytes))
	if s := d.reservedByPoolLocked(p.owner); s != nil {
		s.Decrease(p.kind, int64(bytes))
	}
}

// reservedByPoolLocked is the statistic of a private pool, or nil if there is none.
func (d *device) reservedByPoolLocked(p *pool) *spec.StatArray {
	if !d.rules.PrivatePoolStats || p.id.IsDefault() {
		return nil
	}
	s := d.moreStats.reservedByPool[p.id]
	if s == nil {
		s = new(spec.StatArray)
		if d.moreStats.reservedByPool == nil {
			d.moreStats.reservedByPool = map[spec.PoolID]*spec.StatArray{}
		}
		d.moreStats.reservedByPool[p.id] = s
	}
	return s
}

// ResetPeakStats sets the peak of every statistic to its current value.
func (a *Allocator) ResetPeakStats(dev spec.Device) error {
	return a.onDevice("reset_peak_stats", dev, func(d *device) error {
		d.stats.ResetPeak()
		d.blockStats.resetPeak()
		for _, s := range d.moreStats.reservedByPool {
			for i := range s {
				s[i].ResetPeak()
			}
		}
		return nil
	})
}

// ResetAccumulatedStats sets all sums and counters to 0.
func (a *Allocator) ResetAccumulatedStats(dev spec.Device) error {
	return a.onDevice("reset_accumulated_stats", dev, func(d *device) error {
		d.stats.ResetAccumulated()
		d.blockStats.resetAccumulated()
		d.moreStats.numOOMRejections = 0
		for _, s := range d.moreStats.reservedByPool {
			for i := range s {
				s[i].ResetAccumulated()
			}
		}
		return nil
	})
}

// CacheInfo returns the size in bytes of the largest free block, or atLeast if that is
// larger. If atLeast is 0, the free memory of the device is used for it.
func (a *Allocator) CacheInfo(dev spec.Device, atLeast uint64) (largest uint64, err error) {
	err = a.onDevice("cache_info", dev, func(d *device) error {
		largest = atLeast
		if largest == 0 {
			free, _, err := d.driver.MemInfo(dev)
			if err != nil {
				return fmt.Errorf("asking for the free memory: %w", err)
			}
			largest = free
		}
		for _, p := range append([]*pool{d.defaultPool}, d.graphPools...) {
			largest = max(largest, p.smallBlocks.largestBlock(), p.largeBlocks.largestBlock())
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return largest, nil
}

// reservedBytesLocked returns how many bytes are reserved.
func (d *device) reservedBytesLocked() uint64 {
	return uint64(d.stats.ReservedBytes[spec.Aggregate].Current)
}
