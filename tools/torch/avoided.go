package torch

import (
	"strings"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// An avoider keeps most programs away from what is known to end in a difference, so that they get
// far enough to find others. One program in four avoids nothing, and one in four only leaves pools
// marked as use_on_oom.
type avoider struct {
	none       bool
	overflow   bool
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
	routed      map[spec.PoolID]bool  // pools that requests go to
	addsNodes   bool                  // a free in a capture adds nodes to it
}

func newAvoider(h trace.Header, seed uint64) *avoider {
	return &avoider{
		none: seed%4 == 0, overflow: seed%4 == 2, expandable: strings.Contains(h.Settings, "expandable_segments:True"), several: h.Devices > 1,
		checkpoints: h.Family == "checkpoint", devices: map[int64]spec.Device{}, diverted: map[spec.PoolID]bool{},
		routed: map[spec.PoolID]bool{}, addsNodes: h.Release == "2.9" && strings.Contains(h.Settings, "graph_capture_record_stream_reuse:True"),
		marks: rulesOf(&h).Captures == upstream.CapturesByMark, used: map[int64]bool{},
	}
}

// avoids reports whether the operation is left out. It may change it instead.
func (a *avoider) avoids(op *trace.Op) bool {
	if a.none {
		return false
	}
	switch op.Kind {
	case trace.OpMalloc: // captures/reuse-nodes
		return a.addsNodes && len(a.routed) > 0 && !a.captured.has(op.Stream)
	case trace.OpBusy:
		return a.several && a.expandable && op.Stream == 0
	case trace.OpPoolCreate:
		op.UseOnOOM = op.UseOnOOM && a.overflow
	case trace.OpCaptureBegin:
		op.Mode = spec.CaptureRelaxed
	case trace.OpRecordStream:
		dev, onDefault := a.devices[op.ID]
		return onDefault && op.Stream == 0 && op.Device != dev || a.checkpoints && a.pools
	case trace.OpFree: // an event would be recorded in the capture, and queried outside
		return a.marks && a.used[op.ID] && len(a.captured) > 0 && !a.captured.has(a.captured.current(op))
	case trace.OpPoolEnd:
		return len(a.captured) > 0 && a.diverted[op.Pool]
	case trace.OpEmptyCache:
		return len(a.captured) > 0 && a.expandable
	}
	return false
}

// did records an operation.
func (a *avoider) did(op *trace.Op, out *perform.Result) {
	if changesNothing(op, out) {
		return
	}
	a.captured.follow(op)
	switch op.Kind {
	case trace.OpRecordStream:
		a.used[op.ID] = true
	case trace.OpMalloc:
		delete(a.used, op.ID)
		if op.Stream == 0 {
			a.devices[op.ID] = op.Device
		}
	case trace.OpPoolCreate:
		a.pools = true
	case trace.OpPoolBegin:
		a.pools, a.routed[op.Pool] = true, true
		if op.By == trace.ByCapture {
			a.diverted[op.Pool] = true
		}
	case trace.OpPoolEnd:
		delete(a.diverted, op.Pool)
		delete(a.routed, op.Pool)
	}
}
