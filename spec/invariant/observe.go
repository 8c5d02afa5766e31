package invariant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/spec"
)

// Observation is what is known of an allocator at one moment, all of it of the
// same moment: no call may be under way in the allocator between the first part
// and the last. What is not known is left out; the invariants that need it are
// then not observable.
type Observation struct {
	Geometry spec.Geometry
	Devices  int // how many there are

	Snapshot  *spec.Snapshot     // of all pools
	Stats     []spec.DeviceStats // by device
	Inspector spec.Inspector     // asked while checking
	Driver    []DriverBytes      // by device
	History   *History           // kept from the allocator's first operation on
}

// DriverBytes is what an allocator has of one device's driver, in bytes. Only whoever
// stands between the two can know it: a fake driver, or a wrapper that counts.
type DriverBytes struct {
	// Held is what the allocator has obtained and not released: memory of Malloc, and
	// pages of CreatePage, mapped or not.
	Held uint64
	// Uncached is the part of Held that was allocated for the program while caching was
	// switched off (Toggler). It is in no segment.
	Uncached uint64
	// Foreign is what lies in segments but came from a pool's own functions
	// (PoolMemory). It is no part of Held.
	Foreign uint64
}

// Observe looks at an allocator: its snapshot, its statistics, and the allocator
// itself if it is an Inspector. The caller adds Driver and History if it has them.
// A snapshot may leave an entry in the allocator's trace buffer. What the allocator cannot
// tell (ErrNotSupported) is left out; any other error is its own, wrapped.
func Observe(a spec.Allocator, g spec.Geometry, devices int) (*Observation, error) {
	o := &Observation{Geometry: g, Devices: devices}
	snapshot, err := a.Snapshot()
	switch {
	case err == nil:
		o.Snapshot = &snapshot
	case !errors.Is(err, spec.ErrNotSupported):
		return nil, fmt.Errorf("observe: %w", err)
	}
	for dev := range spec.Device(devices) {
		stats, err := a.Stats(dev)
		if errors.Is(err, spec.ErrNotSupported) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("observe: device %d: %w", dev, err)
		}
		o.Stats = append(o.Stats, stats)
	}
	if in, ok := a.(spec.Inspector); ok {
		o.Inspector = in
	}
	return o, nil
}

// Sources is a set of things that something can be seen from.
type Sources uint8

// The parts of an Observation.
const (
	FromSnapshot Sources = 1 << iota
	FromStats
	FromInspector
	FromDriver
	FromHistory
	// FromRestore: the history's last operation set a pool back to a checkpoint
	// whose layout it knows.
	FromRestore
)

var sourceNames = [...]string{"snapshot", "statistics", "inspector", "driver", "history", "history of a restore"}

// String names the sources: "statistics and snapshot".
func (s Sources) String() string {
	var names []string
	for i, name := range sourceNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// Sources is what the observation has.
func (o *Observation) Sources() Sources {
	var s Sources
	if o.Snapshot != nil {
		s |= FromSnapshot
	}
	if o.Stats != nil {
		s |= FromStats
	}
	if o.Inspector != nil {
		s |= FromInspector
	}
	if o.Driver != nil {
		s |= FromDriver
	}
	if o.History != nil {
		s |= FromHistory
		if o.History.restored != nil {
			s |= FromRestore
		}
	}
	return s
}

// devices lists the devices that anything is known of, in order. A snapshot may
// name any number; only those that it has segments of are listed.
func (o *Observation) devices() []spec.Device {
	var devices []spec.Device
	for dev := range spec.Device(max(o.Devices, len(o.Stats), len(o.Driver))) {
		devices = append(devices, dev)
	}
	if o.Snapshot != nil {
		for i := range o.Snapshot.Segments {
			devices = append(devices, o.Snapshot.Segments[i].Device)
		}
	}
	slices.Sort(devices)
	return slices.Compact(devices)
}

// statsOf is the statistics of a device, nil if they are not known.
func (o *Observation) statsOf(dev spec.Device) *spec.DeviceStats {
	if dev < 0 || int(dev) >= len(o.Stats) {
		return nil
	}
	return &o.Stats[dev]
}
