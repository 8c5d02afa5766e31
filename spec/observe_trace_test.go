package spec_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

// toldOp applies operations and says what came of them.
type toldOp struct {
	op  spec.Op
	out spec.Outcome
}

func tellMalloc(id int64, stream int, at spec.Ptr) toldOp {
	return toldOp{spec.Op{Kind: spec.OpMalloc, ID: id, Size: 512, Stream: stream}, spec.Outcome{Ptr: at}}
}
func tellFree(id int64) toldOp { return toldOp{op: spec.Op{Kind: spec.OpFree, ID: id}} }
func tellRecord(id int64, stream int) toldOp {
	return toldOp{op: spec.Op{Kind: spec.OpRecordStream, ID: id, Stream: stream}}
}
func tell(kind spec.OpKind, stream int) toldOp {
	return toldOp{op: spec.Op{Kind: kind, Stream: stream}}
}
func tellWith(s toldOp, out spec.Outcome) toldOp { s.out = out; return s }

// By the rule of traces work is over before the next operation, unless its stream
// is busy or waits for one that is.
func TestTracesToldToHistory(t *testing.T) {
	streams := []spec.Stream{0, 0x100, 0x200}
	early := func(to, by string) []string {
		return []string{"NoReuseWhileInUse: 0x1000 (512 bytes) was given to stream " + to + " while work of stream " + by +
			" on device 0 may still use 0x1000 (512 bytes), freed by stream 0x100"}
	}
	for _, c := range []struct {
		what string
		ops  []toldOp
		want []string
	}{
		{"an idle stream", []toldOp{
			tell(spec.OpKernel, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a busy stream", []toldOp{
			tell(spec.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a busy stream that was recorded", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, early("0x100", "0x200")},
		{"drained", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tell(spec.OpDrain, 2), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"synchronized", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tell(spec.OpSynchronize, 2), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"waited for by the allocator", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1),
			tellWith(tellMalloc(2, 1, 0x1000), spec.Outcome{Ptr: 0x1000, Drained: []spec.DeviceStream{{Stream: 0x200}}}),
		}, nil},
		{"waited for by the allocator, and not busy any more", []toldOp{
			tell(spec.OpBusy, 2),
			tellWith(tell(spec.OpEmptyCache, 0), spec.Outcome{Drained: []spec.DeviceStream{{Stream: 0x200}}}),
			tell(spec.OpKernel, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"waited for in vain", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000), tellRecord(1, 2), tellFree(1),
			tellWith(tell(spec.OpEmptyCache, 0), spec.Outcome{Err: errors.New("failed"), Drained: []spec.DeviceStream{{Stream: 0x200}}}),
			tellMalloc(2, 1, 0x1000),
		}, nil},
		{"a stream that waits for a busy one", []toldOp{
			tell(spec.OpBusy, 2), tellMalloc(1, 1, 0x1000),
			{op: spec.Op{Kind: spec.OpWaitStream, Stream: 1, On: 2}}, tell(spec.OpKernel, 1),
			tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a stream that waits for the owner", []toldOp{
			tell(spec.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1),
			{op: spec.Op{Kind: spec.OpWaitStream, Stream: 2, On: 1}}, tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a stream that waits for an event", []toldOp{
			tell(spec.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1),
			{op: spec.Op{Kind: spec.OpRecordEvent, Stream: 1, Event: 4}},
			{op: spec.Op{Kind: spec.OpWaitEvent, Stream: 2, Event: 4}}, tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a capture", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(spec.OpCaptureBegin, 1), {op: spec.Op{Kind: spec.OpWaitStream, Stream: 2, On: 1}},
			tell(spec.OpCopy, 2), tellRecord(1, 2), tellFree(1), tellMalloc(2, 1, 0x1000),
		}, early("0x100", "0x200")},
		{"a capture that ended", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(spec.OpCaptureBegin, 1), {op: spec.Op{Kind: spec.OpWaitStream, Stream: 2, On: 1}},
			tell(spec.OpKernel, 2), tellRecord(1, 2), tellFree(1), tell(spec.OpCaptureEnd, 1), tellMalloc(2, 1, 0x1000),
		}, nil},
		{"a launched graph in a stream that waits", []toldOp{
			tellMalloc(1, 1, 0x1000), tell(spec.OpBusy, 0), {op: spec.Op{Kind: spec.OpWaitStream, Stream: 1}},
			tell(spec.OpGraphLaunch, 1), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
		{"a stream that was busy", []toldOp{
			tell(spec.OpBusy, 1), tell(spec.OpDrain, 1), tell(spec.OpKernel, 1),
			tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a stream that waits for one that waits", []toldOp{
			tell(spec.OpKernel, 1), tell(spec.OpBusy, 0), tellMalloc(1, 1, 0x1000),
			{op: spec.Op{Kind: spec.OpWaitStream, Stream: 2}}, tell(spec.OpKernel, 2),
			{op: spec.Op{Kind: spec.OpWaitStream, Stream: 1, On: 2}}, tell(spec.OpKernel, 1),
			tellFree(1), tell(spec.OpDrain, 0), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"a callback frees", []toldOp{
			tellMalloc(1, 1, 0x1000), tellWith(tellMalloc(2, 1, 0x1000), spec.Outcome{Ptr: 0x1000, Freed: []int64{1}}),
		}, nil},
		{"a failed malloc, a failed free", []toldOp{
			tellWith(tellMalloc(1, 1, 0), spec.Outcome{Err: spec.ErrOutOfMemory}), tellMalloc(2, 1, 0x1000),
			tellWith(tellFree(2), spec.Outcome{Err: errors.New("failed")}), tellMalloc(3, 1, 0x1100),
		}, []string{"LiveBlocksDisjoint: 0x1100 (512 bytes) was given out while 0x1000 (512 bytes) was"}},
		{"no caching", []toldOp{
			tell(spec.OpBusy, 1), {op: spec.Op{Kind: spec.OpEnable}}, tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, nil},
		{"caching again", []toldOp{
			{op: spec.Op{Kind: spec.OpEnable}}, {op: spec.Op{Kind: spec.OpEnable, Enabled: true}},
			tell(spec.OpBusy, 1), tellMalloc(1, 1, 0x1000), tellFree(1), tellMalloc(2, 2, 0x1000),
		}, early("0x200", "0x100")},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := spec.NewHistory()
			for _, s := range c.ops {
				h.Settled()
				if err := h.Apply(&s.op, streams, s.out); err != nil {
					t.Fatal(err)
				}
			}
			violations, err := spec.CheckAll(&spec.Observation{Geometry: spec.DefaultGeometry(), History: h})
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
	inv := spec.Invariants()[8]
	for _, c := range []struct {
		dev  spec.Device
		want spec.Verdict
	}{
		{1, spec.Broken}, // another device's
		{0, spec.Holds},
	} {
		op := spec.Op{Kind: spec.OpResetAccumulated, Device: c.dev}
		if err := s.history.Apply(&op, []spec.Stream{0}, spec.Outcome{}); err != nil {
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
		{toldOp{op: spec.Op{Kind: spec.OpRestore, Live: []int64{9}}}, "history: restore: allocation 9 was not made"},
		{toldOp{op: spec.Op{Kind: spec.OpRestore, Freed: []int64{9}}}, "history: restore: allocation 9 was not made"},
		{tellWith(tellMalloc(2, 0, 0x9000), spec.Outcome{Freed: []int64{9}}), "history: malloc: allocation 9 was not made"},
		{tellMalloc(2, 1, 0x9000), "history: malloc: stream 1 of 1"},
		{tellMalloc(2, -1, 0x9000), "history: malloc: stream -1 of 1"},
		{toldOp{op: spec.Op{Kind: spec.OpWaitStream, On: 1}}, "history: wait_stream: stream 1 of 1"},
		{tell(spec.OpTreeCall, 0), "history: not supported: call"},
	} {
		h := spec.NewHistory()
		err := h.Apply(&c.op, []spec.Stream{0}, c.out)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v instead of %s", err, c.want)
		}
		var invalid *spec.InvalidArgumentError
		if !errors.As(err, &invalid) && !errors.Is(err, spec.ErrNotSupported) {
			t.Errorf("%T", err)
		}
		if diff := cmp.Diff(spec.NewHistory(), h, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Error(diff)
		}
	}
}
