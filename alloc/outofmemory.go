package alloc

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// failOutOfMemory reports that nothing could serve the request: to the figures,
// the diary, the observers (with the lock released), and the caller. It is called
// with the lock held and releases it.
func (d *device) failOutOfMemory(w *want) error {
	free, total, infoErr := d.driver.MemInfo(d.id)
	if infoErr != nil {
		free, total = 0, d.totalMemory
	}
	d.stats.NumOOMs++
	d.traceOutOfMemory(w, free)

	pools := d.private.freeBytes()
	allocated := uint64(d.stats.AllocatedBytes[spec.Aggregate].Current) + pools
	failure := &spec.OutOfMemoryError{
		Device: d.id, Requested: w.requested, SegmentSize: w.segmentSize,
		DeviceTotal: total, DeviceFree: free,
		Limited: d.limited, Limit: d.limit,
		Allocated: allocated, PrivatePools: pools, Unallocated: d.reserved() - allocated,
	}
	observers := slices.Clone(d.outOfMemory)
	d.mu.Unlock()

	report := spec.OutOfMemoryReport{Device: d.id, SegmentSize: w.segmentSize, Allowed: total, DeviceFree: free}
	if failure.Limited {
		report.Allowed = failure.Limit
	}
	for _, observe := range observers {
		observe(report)
	}
	if infoErr != nil {
		return errors.Join(failure, fmt.Errorf("asking for the free memory: %w", infoErr))
	}
	return failure
}
