package play

import (
	"math"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// driver is the fake GPU with two things that Assumptions decide: the addresses, and when
// events complete. Time is the number of the request, since the history shows before
// which request a free completed.
type driver struct {
	*fakegpu.GPU
	now      int32   // the number of the present request
	deadline int32   // of events that are recorded now: the request before which they complete
	events   []int32 // deadlines by handle
	asked    int     // how often memory was asked for
}

// totalMemory is the memory of the fake device, in bytes: more than a real one has, so
// that only the limit matters.
const totalMemory = 1 << 40

// LargestLimit is the largest possible limit, in bytes.
const LargestLimit = totalMemory - 1

// never is the deadline of an event that completes only when it is synchronized.
const never = math.MaxInt32

func newDriver(addresses fakegpu.AddressPolicy) *driver {
	return &driver{GPU: fakegpu.New(fakegpu.Config{
		Devices:   fakegpu.Devices(1, totalMemory),
		Addresses: func(spec.Device) fakegpu.AddressPolicy { return addresses },
	})}
}

// Malloc implements spec.Driver.
func (d *driver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	d.asked++
	return d.GPU.Malloc(dev, bytes)
}

// CreatePage implements spec.VirtualMemory.
func (d *driver) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	d.asked++
	return d.GPU.CreatePage(dev, bytes, share)
}

// CreateEvent implements spec.Driver.
func (d *driver) CreateEvent(spec.Device) (spec.EventHandle, error) {
	d.events = append(d.events, 0)
	return spec.EventHandle(len(d.events)), nil
}

// RecordEvent implements spec.Driver.
func (d *driver) RecordEvent(ev spec.EventHandle, _ spec.Device, _ spec.Stream) error {
	d.events[ev-1] = d.deadline
	return nil
}

// QueryEvent implements spec.Driver.
func (d *driver) QueryEvent(ev spec.EventHandle) (bool, error) {
	return d.events[ev-1] <= d.now, nil
}

// SynchronizeEvent implements spec.Driver.
func (d *driver) SynchronizeEvent(ev spec.EventHandle) error {
	d.events[ev-1] = 0
	return nil
}

// SynchronizeStream implements spec.Driver.
func (d *driver) SynchronizeStream(spec.Device, spec.Stream) error { return nil }

// CaptureStatus implements spec.Driver: captures are not repeated, only their pools.
func (d *driver) CaptureStatus(spec.Device, spec.Stream) (spec.CaptureInfo, error) {
	return spec.CaptureInfo{}, nil
}

// setRoom makes the device refuse to have more than a number of bytes allocated at a time,
// if the process has not more already.
func (d *driver) setRoom(bytes uint64) {
	d.SetFreeMemory(0, bytes-min(bytes, d.InUse(0)))
}
