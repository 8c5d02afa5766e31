package spec_test

import (
	"fmt"
	"testing"

	"gaugeblock/spec"
)

// TestReserves: the reserves of classes, in order, and those of a stream of a class or of none.
func TestReserves(t *testing.T) {
	m := spec.ReserveByClass("").With("b", spec.Reserve{Fraction: 0.25}).With("a", spec.Reserve{Bytes: 7}).With("c", spec.Reserve{Fraction: 1.5, Bytes: 3}).With("b", spec.Reserve{Bytes: 9})
	if want := spec.ReserveByClass("a 0 7\nb 0 9\nc 1.5 3"); m != want {
		t.Errorf("%q, not %q", m, want)
	}
	said := ""
	for class, r := range m.All {
		if said += fmt.Sprint(class, r, " "); class == "b" {
			break
		}
	}
	if said != "a{0 7} b{0 9} " {
		t.Error(said)
	}
	c := spec.Config{Reserve: spec.Reserve{Bytes: 1}, ReserveByClass: m}
	for class, want := range map[string]spec.Reserve{"": {Bytes: 1}, "a": {Bytes: 7}, "c": {Fraction: 1.5, Bytes: 3}, "d": {Bytes: 1}} {
		if got := c.ReserveFor(class); got != want {
			t.Errorf("%q: %v, not %v", class, got, want)
		}
	}
}

// TestRanges: which ranges share bytes, and which lie in others.
func TestRanges(t *testing.T) {
	r := spec.Range{Ptr: 10, Bytes: 5}
	for _, c := range []struct {
		from, to           spec.Ptr
		overlaps, contains bool
	}{
		{10, 15, true, true}, {11, 14, true, true}, {9, 15, true, false}, {10, 16, true, false}, {9, 10, false, false}, {15, 16, false, false},
		{14, 16, true, false}, {9, 11, true, false}, {1, 2, false, false}, {20, 21, false, false}, {10, 11, true, true}, {14, 15, true, true},
	} {
		o := spec.Range{Ptr: c.from, Bytes: uint64(c.to - c.from)}
		if r.Overlaps(o) != c.overlaps || o.Overlaps(r) != c.overlaps || r.Contains(o) != c.contains || o.End() != c.to {
			t.Errorf("%v: overlaps %v, contains %v", o, r.Overlaps(o), r.Contains(o))
		}
	}
}

// TestValuesInText: what streams and kinds of pools are called, what state a block is in, and what is in force when nothing is set.
func TestValuesInText(t *testing.T) {
	state := func(b spec.BlockView) spec.BlockState { return b.State() }
	for _, c := range []struct{ got, want any }{
		{spec.Stream(0).String(), "default"}, {spec.Stream(1).String(), "0x1"}, {spec.Stream(255).String(), "0xff"},
		{spec.SmallPool.String(), "small"}, {spec.LargePool.String(), "large"}, {spec.LargePool.StatType(), spec.StatLargePool}, {spec.SmallPool.StatType(), spec.StatSmallPool},
		{state(spec.BlockView{}), spec.Inactive}, {state(spec.BlockView{Allocated: true, EventCount: 1}), spec.ActiveAllocated},
		{state(spec.BlockView{EventCount: 1}), spec.ActivePendingFree}, {state(spec.BlockView{StreamUses: 1}), spec.ActivePendingFree},
		{spec.SharePOSIX.String(), "posix file descriptor"}, {spec.ShareFabric.String(), "fabric"}, {spec.CaptureGlobal.String(), "global"}, {spec.CaptureThreadLocal.String(), "thread_local"}, {spec.CaptureRelaxed.String(), "relaxed"}, {spec.CaptureMode(3).String(), "unknown"},
		{spec.FormatSizeUp(512), "512 bytes"}, {spec.FormatSizeUp(1024), "1024 bytes"}, {spec.FormatSizeUp(1025), "1.01 KiB"},
	} {
		if c.got != c.want {
			t.Errorf("%v, not %v", c.got, c.want)
		}
	}
	g := spec.DefaultGeometry()
	if small, large := g.PoolKind(g.SmallSize), g.PoolKind(g.SmallSize+1); small != spec.SmallPool || large != spec.LargePool {
		t.Errorf("the largest small size is in the %v pool, the next in the %v", small, large)
	}
	want := spec.Config{
		MaxSplitSize: spec.Unlimited, MaxNonSplitRounding: g.LargeBuffer, LargeSegmentSize: g.LargeBuffer, PerProcessMemoryFraction: 1,
		Pinned: spec.PinnedConfig{NumRegisterThreads: 1, MaxRoundThreshold: spec.Unlimited, MaxCachedSize: spec.Unlimited},
	}
	if got := spec.DefaultConfig(g); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	rejected := &spec.OutOfMemoryError{Requested: 1, SegmentSize: 2 << 20, Device: 3, Unallocated: 4 << 20, DeviceTotal: 8 << 20, Rejected: true}
	if got, want := rejected.Error(), "out of memory: a segment of 2.00 MiB on device 3 was rejected (throw_on_cudamalloc_oom), since 4.00 MiB is reserved of a total capacity of 8.00 MiB"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// TestReserveOf: how much a reserve is of 800 bytes, of which all and an eighth is the most.
func TestReserveOf(t *testing.T) {
	for _, c := range []struct {
		r    spec.Reserve
		want uint64
	}{
		{spec.Reserve{}, 900}, {spec.Reserve{Fraction: 0.5}, 400}, {spec.Reserve{Fraction: 0.5, Bytes: 7}, 400}, {spec.Reserve{Fraction: 1.125}, 900}, {spec.Reserve{Fraction: 1.12}, 896},
		{spec.Reserve{Fraction: 3}, 900}, {spec.Reserve{Fraction: 1e300}, 900}, {spec.Reserve{Bytes: 1}, 1}, {spec.Reserve{Bytes: 900}, 900}, {spec.Reserve{Bytes: 901}, 900},
	} {
		if got := c.r.Of(800); got != c.want {
			t.Errorf("%+v is %d, not %d", c.r, got, c.want)
		}
	}
}

// TestRequestsAccepted: a pool for a thread or a stream takes its requests, whatever else they say.
func TestRequestsAccepted(t *testing.T) {
	r := spec.Request{Thread: 3, Stream: 5}
	for name, c := range map[string]struct {
		accepts spec.RequestFilter
		want    bool
	}{
		"thread 3": {spec.ForThread(3), true}, "thread 5": {spec.ForThread(5), false}, "stream 5": {spec.ForStream(5), true}, "stream 3": {spec.ForStream(3), false},
	} {
		if got := c.accepts(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCurrentStreams: a caller's current stream is that of one device, the default stream on others.
func TestCurrentStreams(t *testing.T) {
	c := spec.Caller{Current: spec.DeviceStream{Device: 1, Stream: 9}}
	if on0, on1 := c.CurrentOn(0), c.CurrentOn(1); on0 != 0 || on1 != 9 {
		t.Errorf("%v on device 0 and %v on device 1", on0, on1)
	}
}
