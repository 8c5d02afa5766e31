package torch

import (
	"strings"

	"gaugeblock/replay"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// care keeps most programs away from what is known to end in a difference, so that they get
// far enough to find others. One program in four does not care.
type care struct {
	none       bool
	expandable bool
	several    bool // devices
	// checkpoints: pools are set back, which PyTorch does also to blocks with uses.
	checkpoints bool
	devices     map[int64]spec.Device // of what is allocated on a default stream
	pools       bool                  // a pool has been made
	captured    captured              // captures under way
	marks       bool                  // the current stream decides whether a free is in a capture
	used        map[int64]bool        // memory that streams were recorded for
	diverted    map[spec.PoolID]bool  // pools that a capture's requests go to
}

func newCare(h trace.Header, seed uint64) *care {
	return &care{
		none: seed%4 == 0, expandable: strings.Contains(h.Settings, "expandable_segments:True"), several: h.Devices > 1,
		checkpoints: h.Family == "checkpoint", devices: map[int64]spec.Device{}, diverted: map[spec.PoolID]bool{},
		marks: rulesOf(&h).Captures == upstream.CapturesByMark, used: map[int64]bool{},
	}
}

// avoids reports whether the operation is left out. It may change it instead.
func (c *care) avoids(op *trace.Op) bool {
	if c.none {
		return false
	}
	switch op.Kind {
	case trace.OpBusy:
		return c.several && c.expandable && op.Stream == 0
	case trace.OpPoolCreate:
		op.UseOnOOM = false
	case trace.OpCaptureBegin:
		op.Mode = spec.CaptureRelaxed
	case trace.OpRecordStream:
		dev, onDefault := c.devices[op.ID]
		return onDefault && op.Stream == 0 && op.Device != dev || c.checkpoints && c.pools
	case trace.OpFree: // an event would be recorded in the capture, and queried outside
		return c.marks && c.used[op.ID] && len(c.captured) > 0 && !c.captured.has(c.captured.current(op))
	case trace.OpPoolEnd:
		return len(c.captured) > 0 && c.diverted[op.Pool]
	case trace.OpEmptyCache:
		return len(c.captured) > 0 && c.expandable
	}
	return false
}

// did records an operation.
func (c *care) did(op *trace.Op, out *replay.Performed) {
	if out.Err != nil || out.Skipped {
		return
	}
	c.captured.follow(op)
	switch op.Kind {
	case trace.OpRecordStream:
		c.used[op.ID] = true
	case trace.OpMalloc:
		delete(c.used, op.ID)
		if op.Stream == 0 {
			c.devices[op.ID] = op.Device
		}
	case trace.OpPoolCreate:
		c.pools = true
	case trace.OpPoolBegin:
		c.pools = true
		if op.By == trace.ByCapture {
			c.diverted[op.Pool] = true
		}
	case trace.OpPoolEnd:
		delete(c.diverted, op.Pool)
	}
}
