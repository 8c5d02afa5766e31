package torch

import (
	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// care keeps most programs away from what is known to end in a difference, so that they get
// far enough to find others. One program in four does not care.
type care struct {
	none    bool
	devices map[int64]spec.Device // of what is allocated on a default stream
	pools   bool                  // a pool has been made
}

func newCare(h spec.TraceHeader, seed uint64) *care {
	return &care{none: seed%4 == 0, devices: map[int64]spec.Device{}}
}

// avoids reports whether the operation is left out. It may change it instead.
func (c *care) avoids(op *spec.Op) bool {
	if c.none {
		return false
	}
	switch op.Kind {
	case spec.OpPoolCreate:
		op.UseOnOOM = false
	case spec.OpCaptureBegin:
		op.Mode = spec.CaptureRelaxed
	case spec.OpRecordStream:
		dev, onDefault := c.devices[op.ID]
		return onDefault && op.Stream == 0 && op.Device != dev || c.pools && op.Pool == spec.DefaultPool
	}
	return false
}

// did takes note of an operation.
func (c *care) did(op *spec.Op, out *replay.Performed) {
	switch {
	case op.Kind == spec.OpMalloc && op.Stream == 0 && out.Err == nil:
		c.devices[op.ID] = op.Device
	}
}
