package pluggable_test

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// device is the fake device with what a library wants of one beside. Captures on it begin
// behind the back of the driver: FreeForbidden does not know of them.
type device struct {
	*fakegpu.GPU
	streams map[spec.Stream]spec.Device
}

func newDevice() device {
	return device{fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)}), map[spec.Stream]spec.Device{0: 0}}
}

func (d device) stream(t *testing.T, dev spec.Device) spec.Stream {
	t.Helper()
	s, err := d.CreateStream(dev)
	must(t, err)
	d.streams[s] = dev
	return s
}

func (d device) StreamDevice(s spec.Stream) (spec.Device, error) { return d.streams[s], nil }

func (d device) StreamCaptured(dev spec.Device, s spec.Stream) bool {
	status, err := d.CaptureStatus(dev, s)
	return err == nil && status.Status != spec.CaptureNone
}

func (d device) FreeForbidden() bool { return false }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
