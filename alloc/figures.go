package alloc

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// What a program can ask and set of a device, beside memory.

// Stats are the device's figures.
func (a *Allocator) Stats(dev spec.Device) (spec.DeviceStats, error) {
	d, err := a.device("stats", dev)
	if err != nil {
		return spec.DeviceStats{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats, nil
}

// ResetPeakStats starts all peaks anew from the current figures.
func (a *Allocator) ResetPeakStats(dev spec.Device) error {
	d, err := a.device("reset_peak_stats", dev)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.ResetPeak()
	return nil
}

// ResetAccumulatedStats starts all sums and counters anew.
func (a *Allocator) ResetAccumulatedStats(dev spec.Device) error {
	d, err := a.device("reset_accumulated_stats", dev)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.ResetAccumulated()
	return nil
}

// SetMemoryFraction limits what may be held from the driver.
func (a *Allocator) SetMemoryFraction(dev spec.Device, fraction float64) error {
	d, err := a.device("set_memory_fraction", dev)
	if err != nil {
		return err
	}
	if !(fraction >= 0 && fraction <= 1) {
		return &spec.InvalidArgumentError{Op: "set_memory_fraction", Reason: fmt.Sprintf("%v is not in [0, 1]", fraction)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setFraction(fraction)
	return nil
}

// MemoryFraction is the limit as a part of the device's memory.
func (a *Allocator) MemoryFraction(dev spec.Device) (float64, error) {
	d, err := a.device("memory_fraction", dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.limited {
		return 1, nil
	}
	return float64(d.limit) / float64(d.totalMemory), nil
}

// Configure applies settings at run time. A string that is refused changes
// nothing. Each device takes the new settings between two of its operations.
func (a *Allocator) Configure(text string) error {
	a.configuring.Lock()
	defer a.configuring.Unlock()
	cfg, err := settings.Apply(a.Config(), text, a.geometry)
	if err != nil {
		return err
	}
	for _, d := range a.devices {
		d.mu.Lock()
		d.cfg = cfg
		d.mu.Unlock()
	}
	return nil
}

// Config is what is in force.
func (a *Allocator) Config() spec.Config {
	d := a.devices[0]
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cfg
}

// BaseAllocation is the segment around a pointer that is out.
func (a *Allocator) BaseAllocation(p spec.Ptr) (spec.Ptr, uint64, error) {
	if d := a.owner(p); d != nil {
		return d.baseAllocation(p)
	}
	return 0, 0, &spec.InvalidPointerError{Op: "base_allocation", Ptr: p}
}

func (d *device) baseAllocation(p spec.Ptr) (spec.Ptr, uint64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.table.get(p)
	if b == nil {
		return 0, 0, &spec.InvalidPointerError{Op: "base_allocation", Ptr: p}
	}
	if !b.plain() {
		return 0, 0, &spec.InvalidArgumentError{Op: "base_allocation", Reason: "the pointer is in an expandable segment, which is not one piece of the driver's"}
	}
	return b.segment.base, b.segment.size, nil
}

// CacheInfo is the size of the largest free block, at least the given one. Where
// that is 0 the memory that the device has free takes its place.
func (a *Allocator) CacheInfo(dev spec.Device, atLeast uint64) (uint64, error) {
	d, err := a.device("cache_info", dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if atLeast == 0 {
		if atLeast, _, err = d.driver.MemInfo(dev); err != nil {
			return 0, fmt.Errorf("asking for the free memory: %w", err)
		}
	}
	for _, p := range append([]*pool{d.pool}, d.private...) {
		atLeast = max(atLeast, p.small.largestFree(), p.large.largestFree())
	}
	return atLeast, nil
}

// largestFree is the size in bytes of the largest free block.
func (p *blockPool) largestFree() uint64 {
	largest := uint64(0)
	for b := range p.free.all() {
		largest = max(largest, b.size)
	}
	return largest
}
