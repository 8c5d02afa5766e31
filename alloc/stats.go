package alloc

import (
	"fmt"

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

// ResetPeakStats sets the peak of every statistic to its current value.
func (a *Allocator) ResetPeakStats(dev spec.Device) error {
	return a.onDevice("reset_peak_stats", dev, func(d *device) error {
		d.stats.ResetPeak()
		d.blockStats.resetPeak()
		return nil
	})
}

// ResetAccumulatedStats sets all sums and counters to 0.
func (a *Allocator) ResetAccumulatedStats(dev spec.Device) error {
	return a.onDevice("reset_accumulated_stats", dev, func(d *device) error {
		d.stats.ResetAccumulated()
		d.blockStats.resetAccumulated()
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
