package invariant_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// toldOp applies operations and says what came of them.
type toldOp struct {
	op  trace.Op
	out invariant.Outcome
}

func tellMalloc(id int64, stream int, at spec.Ptr) toldOp {
	return toldOp{trace.Op{Kind: trace.OpMalloc, ID: id, Size: 512, Stream: stream}, invariant.Outcome{Ptr: at}}
}
func tellFree(id int64) toldOp { return toldOp{op: trace.Op{Kind: trace.OpFree, ID: id}} }
func tellRecord(id int64, stream int) toldOp {
	return toldOp{op: trace.Op{Kind: trace.OpRecordStream, ID: id, Stream: stream}}
}
func tell(kind trace.OpKind, stream int) toldOp {
	return toldOp{op: trace.Op{Kind: kind, Stream: stream}}
}
func tellWith(s toldOp, out invariant.Outcome) toldOp { s.out = out; return s }

// By the rule of traces work is over before the next operation, unless its stream
// is busy or waits for one that is.
func TestTracesToldToHistory(t *testing.T) {
	streams := []spec.Stream{0, 0x100, 0x200}
	early := func(to, by string) []string {
		return []string{"NoReuseWhileInUse: 0x1000 (512 bytes) was allocated for stream " + to + " while work of stream " + by +
			" on device 0 may still use 0x1000 (512 bytes), freed by stream 0x100"}
	}
	for _, c := range []struct {
		what string
		ops  []toldOp
		want []string
	}{
		{"an idle stream", []toldOp{
			tell(trace.OpKernel, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a busy stream", []toldOp{
			tell(trace.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a busy stream that was recorded", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, early("0x100", "0x200")},
		{"drained", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tell(trace.OpDrain, 2), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"synchronized", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tell(trace.OpSynchronize, 2), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"waited for by the allocator", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1),
			tellWith(tellMalloc(2, 1, 0x1000), invariant.Outcome{Ptr: 0x1000, Drained: []spec.DeviceStream{{Stream: 0x200}}}),
		}, nil},
		{"waited for by the allocator, and not busy any more", []toldOp{
			tell(trace.OpBusy, 2),
			tellWith(tell(trace.OpEmptyCache, 0), invariant.Outcome{Drained: []spec.DeviceStream{{Stream: 0x200}}}),
			tell(trace.OpKernel, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"waited for in vain", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1),
			tellWith(tell(trace.OpEmptyCache, 0), invariant.Outcome{Err: errors.New("failed"), Drained: []spec.DeviceStream{{Stream: 0x200}}}),
			tellMalloc(2, 1, 0x1000),
		}, nil},
		{"a stream that waits for a busy one", []toldOp{
			tell(trace.OpBusy, 2), tellMalloc(1, 1, 0x1000),
			{op: trace.Op{Kind: trace.OpWaitStream, Stream: 1, On: 2}}, tell(trace.OpKernel, 1),
			tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a stream that waits for the owner", []toldOp{
			tell(trace.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1),
			{op: trace.Op{Kind: trace.OpWaitStream, Stream: 2, On: 1}}, tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a stream that waits for an event", []toldOp{
			tell(trace.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1),
			{op: trace.Op{Kind: trace.OpRecordEvent, Stream: 1, Event: 4}},
			{op: trace.Op{Kind: trace.OpWaitEvent, Stream: 2, Event: 4}}, tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a capture", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(trace.OpCaptureBegin, 1), {op: trace.Op{Kind: trace.OpWaitStream, Stream: 2, On: 1}},
			tell(trace.OpCopy, 2), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, early("0x100", "0x200")},
		{"a capture that ended", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(trace.OpCaptureBegin, 1), {op: trace.Op{Kind: trace.OpWaitStream, Stream: 2, On: 1}},
			tell(trace.OpKernel, 2), tellRecord(1, 2), tellFree(1), tell(trace.OpCaptureEnd, 1), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"a launched graph in a stream that waits", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(trace.OpBusy, 0), {op: trace.Op{Kind: trace.OpWaitStream, Stream: 1}},
			tell(trace.OpGraphLaunch, 1), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a stream that was busy", []toldOp{
			tell(trace.OpBusy, 1), tell(trace.OpDrain, 1), tell(trace.OpKernel, 1),
			tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a stream that waits for one that waits", []toldOp{
			tell(trace.OpKernel, 1), tell(trace.OpBusy, 0), tellMalloc(1, 1, 0x1000),
			{op: trace.Op{Kind: trace.OpWaitStream, Stream: 2}}, tell(trace.OpKernel, 2),
			{op: trace.Op{Kind: trace.OpWaitStream, Stream: 1, On: 2}}, tell(trace.OpKernel, 1),
			tellFree(1), tell(trace.OpDrain, 0), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a callback frees", []toldOp{
			tellMalloc(1, 1, 0x1000), tellWith(tellMalloc(2, 1, 0x1000), invariant.Outcome{Ptr: 0x1000, Freed: []int64{1}}),
		}, nil},
		{"a failed malloc, a failed free", []toldOp{
			tellWith(tellMalloc(1, 1, 0), invariant.Outcome{Err: spec.ErrOutOfMemory}), tellMalloc(2, 1, 0x1000),
			tellWith(tellFree(2), invariant.Outcome{Err: errors.New("failed")}), tellMalloc(3, 1, 0x1100),
		}, []string{"LiveBlocksDisjoint: 0x1100 (512 bytes) was allocated while 0x1000 (512 bytes) was"}},
		{"no caching", []toldOp{
			tell(trace.OpBusy, 1), {op: trace.Op{Kind: trace.OpEnable}}, tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"caching again", []toldOp{
			{op: trace.Op{Kind: trace.OpEnable}}, {op: trace.Op{Kind: trace.OpEnable, Enabled: true}},
			tell(trace.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := invariant.NewHistory()
			for _, s := range c.ops {
				h.WorkCompleted()
				if err := h.Apply(&s.op, streams, s.out); err != nil {
					t.Fatal(err)
				}
			}
			violations, err := invariant.CheckAll(&invariant.Observation{Geometry: spec.DefaultGeometry(), History: h})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, sentences(violations)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A reset of the sums makes their difference to the current figure unknown.
func TestResetIsRemembered(t *testing.T) {
	s := goodScene()
	s.stats.ResetAccumulated()
	inv := invariant.All()[8]
	for _, c := range []struct {
		dev  spec.Device
		want invariant.Verdict
	}{
		{1, invariant.Broken}, // another device's
		{0, invariant.Holds},
	} {
		op := trace.Op{Kind: trace.OpResetAccumulated, Device: c.dev}
		if err := s.history.Apply(&op, []spec.Stream{0}, invariant.Outcome{}); err != nil {
			t.Fatal(err)
		}
		finding, err := inv.Check(s.observe(everything))
		if err != nil || finding.Verdict != c.want {
			t.Errorf("device %d reset: %v, %v", c.dev, finding, err)
		}
	}
}

// What cannot be followed is an error and leaves the history as it was.
func TestTracesThatHistoryCannotFollow(t *testing.T) {
	for _, c := range []struct {
		toldOp
		want string
	}{
		{tellFree(9), "history: free: allocation 9 was not made"},
		{tellRecord(9, 0), "history: record_stream: allocation 9 was not made"},
		{toldOp{op: trace.Op{Kind: trace.OpRestore, Live: []int64{9}}}, "history: restore: allocation 9 was not made"},
		{toldOp{op: trace.Op{Kind: trace.OpRestore, Freed: []int64{9}}}, "history: restore: allocation 9 was not made"},
		{tellWith(tellMalloc(2, 0, 0x9000), invariant.Outcome{Freed: []int64{9}}), "history: malloc: allocation 9 was not made"},
		{tellMalloc(2, 1, 0x9000), "history: malloc: stream 1 of 1"},
		{tellMalloc(2, -1, 0x9000), "history: malloc: stream -1 of 1"},
		{toldOp{op: trace.Op{Kind: trace.OpWaitStream, On: 1}}, "history: wait_stream: stream 1 of 1"},
		{tell(trace.OpTreeCall, 0), "history: not supported: call"},
	} {
		restored := func() *invariant.History {
			saved, h := pooled(false), invariant.NewHistory()
			h.CheckpointTaken(0, mempool, 3, &saved)
			h.CheckpointRestored(3, nil, nil)
			return h
		}
		h := restored()
		err := h.Apply(&c.op, []spec.Stream{0}, c.out)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v instead of %s", err, c.want)
		}
		var invalid *spec.InvalidArgumentError
		if !errors.As(err, &invalid) && !errors.Is(err, spec.ErrNotSupported) {
			t.Errorf("%T", err)
		}
		if diff := cmp.Diff(restored(), h, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Error(diff)
		}
	}
}
