package invariant

import "gaugeblock/spec"

// examineDriver compares what the driver has given with what the allocator says it
// holds, by its statistics if they are known and by its segments if not:
// invariant 17.
func examineDriver(o *Observation, r *violationReport) {
	for i, d := range o.Driver {
		dev := spec.Device(i)
		var holds int64
		switch stats := o.statsOf(dev); {
		case stats != nil:
			holds = stats.ReservedBytes[spec.Aggregate].Current
		case o.Snapshot != nil:
			holds = int64(totalSize(o.Snapshot, dev))
		default:
			continue
		}
		if int64(d.Held+d.Foreign-d.Uncached) != holds {
			r.add(nothingIsLost, dev, 0,
				"the driver has given %d bytes (%d of them uncached, %d more are from pools' own functions), the allocator holds %d",
				d.Held, d.Uncached, d.Foreign, holds)
		}
	}
}

// totalSize is the bytes of a device's segments.
func totalSize(s *spec.Snapshot, dev spec.Device) (bytes uint64) {
	for i := range s.Segments {
		if s.Segments[i].Device == dev {
			bytes += s.Segments[i].TotalSize
		}
	}
	return bytes
}
