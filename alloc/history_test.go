package alloc_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// traceOf is the trace entries of a device in short: "alloc 512".
func traceOf(t *testing.T, a *alloc.Allocator, dev spec.Device) []string {
	t.Helper()
	var lines []string
	for _, e := range traces(t, a, dev) {
		lines = append(lines, fmt.Sprintf("%v %d", e.Action, e.Size))
	}
	return lines
}

func traces(t *testing.T, a *alloc.Allocator, dev spec.Device) []spec.HistoryEntry {
	t.Helper()
	s, err := a.Snapshot()
	must(t, err)
	return s.Traces[dev]
}

// TestHistoryRing: the last entries are kept, oldest first. If their number changes,
// the newest stay. (Each snapshot adds an entry of its own, which the next one shows.)
func TestHistoryRing(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	record := func(n int) {
		t.Helper()
		must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: n, Skip: []spec.Action{spec.ActionSnapshot}}))
	}
	want := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, traceOf(t, a, 0)); diff != "" {
			t.Errorf("the trace entries (-want +got):\n%s", diff)
		}
	}
	mustMalloc(t, a, 0, 1) // before the history is recorded
	record(4)
	p := mustMalloc(t, a, 0, 2)
	mustMalloc(t, a, 0, 3)
	want("alloc 2", "alloc 3")
	must(t, a.Free(p))
	mustMalloc(t, a, 0, 4)
	want("alloc 3", "free_requested 2", "free_completed 2", "alloc 4")
	mustMalloc(t, a, 0, 5)
	want("free_requested 2", "free_completed 2", "alloc 4", "alloc 5")
	record(2)
	want("alloc 4", "alloc 5")
	mustMalloc(t, a, 0, 6)
	want("alloc 5", "alloc 6")
	record(3)
	want("alloc 5", "alloc 6")
	mustMalloc(t, a, 0, 7)
	mustMalloc(t, a, 0, 8)
	want("alloc 6", "alloc 7", "alloc 8")
	record(0) // one entry is always kept
	want("alloc 8")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 9, Clear: true}))
	want()
	must(t, a.RecordHistory(spec.HistoryOptions{MaxEntries: 9}))
	want()
	mustMalloc(t, a, 0, 9)
	want()
}

// TestHistorySkip: any action can be left out of the ring. Trackers get it anyway.
func TestHistorySkip(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "expandable_segments:True")
	var got []string
	a.OnTrace(func(e spec.HistoryEntry) { got = append(got, e.Action.String()) })
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 99, Skip: []spec.Action{
		spec.ActionFreeRequested, spec.ActionSegmentMap, spec.ActionSegmentUnmap, spec.ActionSnapshot,
	}}))
	must(t, a.Free(mustMalloc(t, a, 0, 512)))
	must(t, a.EmptyCache())
	if diff := cmp.Diff([]string{"alloc 512", "free_completed 512"}, traceOf(t, a, 0)); diff != "" {
		t.Errorf("the trace entries (-want +got):\n%s", diff)
	}
	want := []string{"segment_map", "alloc", "free_requested", "free_completed", "segment_unmap", "snapshot"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// TestHistoryOfDevices: each device has trace entries of its own. Every entry has its
// device, that of a snapshot included.
func TestHistoryOfDevices(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)}), "")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 9}))
	mustMalloc(t, a, 1, 512)
	traces(t, a, 0)
	for dev, want := range [][]string{{"snapshot 0"}, {"segment_alloc 2097152", "alloc 512", "snapshot 512"}} {
		got := traces(t, a, spec.Device(dev))
		var lines []string
		for _, e := range got[:len(want)] {
			lines = append(lines, fmt.Sprintf("%v %d", e.Action, e.Size))
			if e.Device != spec.Device(dev) {
				t.Errorf("the entry %q of device %d names device %d", e.Action, dev, e.Device)
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("device %d (-want +got):\n%s", dev, diff)
		}
	}
}

// TestHistoryContext: the context is gathered, without the mutex held, as far as the
// level says. It is in the entries from ContextAlloc on, and in blocks and segments
// always.
func TestHistoryContext(t *testing.T) {
	for _, test := range []struct {
		level spec.ContextLevel
		want  []string // the contexts of segment_alloc, alloc, free_requested, free_completed
		block any
	}{
		{spec.ContextNever, []string{"<nil>", "<nil>", "<nil>", "<nil>"}, nil},
		{spec.ContextState, []string{"<nil>", "<nil>", "<nil>", "<nil>"}, "place 1"},
		// The context of a free is not gathered: the entries have that of the
		// allocation.
		{spec.ContextAlloc, []string{"place 1", "place 1", "place 1", "place 1"}, "place 1"},
		{spec.ContextAll, []string{"place 1", "place 1", "place 2", "place 2"}, "place 1"},
	} {
		a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
		calls := 0
		place := func() any {
			calls++
			must(t, a.ResetPeakStats(0)) // takes the mutex
			return fmt.Sprintf("place %d", calls)
		}
		must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 9, Context: place, Level: test.level}))
		p := mustMalloc(t, a, 0, 512)
		s, err := a.Snapshot()
		must(t, err)
		if got := s.Segments[0]; got.Context != test.block || got.Blocks[0].Context != test.block {
			t.Errorf("level %d: the segment and its block were made at %v and %v, want %v", test.level, got.Context, got.Blocks[0].Context, test.block)
		}
		must(t, a.Free(p))
		var got []string
		for _, e := range traces(t, a, 0) {
			if e.Action != spec.ActionSnapshot {
				got = append(got, fmt.Sprint(e.Context))
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("level %d (-want +got):\n%s", test.level, diff)
		}
		s, err = a.Snapshot()
		must(t, err)
		if got := s.Segments[0].Blocks[0].Context; got != nil {
			t.Errorf("level %d: the free block was made at %v", test.level, got)
		}
	}
}

// TestHistoryNotes: an entry has what the requesting thread has set: its innermost
// compile context and its user metadata; and the time, if there is a clock.
func TestHistoryNotes(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	giveTo := func(thread spec.Thread) spec.Ptr {
		t.Helper()
		p, err := a.Malloc(spec.Request{Bytes: 512, Thread: thread})
		must(t, err)
		return p
	}
	now := int64(0)
	a.PushCompileContext(1, "too early: nothing is recorded")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 99, Now: func() int64 { now += 5; return now }}))
	giveTo(1)
	a.PushCompileContext(1, "outer")
	a.PushCompileContext(1, "inner")
	a.PushCompileContext(2, "other")
	a.SetUserMetadata(1, "epoch 3")
	giveTo(1)
	a.PopCompileContext(1)
	p := giveTo(1)
	a.PopCompileContext(1)
	a.PopCompileContext(1) // one too many does nothing
	giveTo(1)
	giveTo(2)
	must(t, a.Free(p)) // Free has no thread: it counts as thread 0
	var got []string
	for _, e := range traces(t, a, 0) {
		got = append(got, fmt.Sprintf("%d %v %s %q", e.TimeNS, e.Action, e.CompileContext, e.UserMetadata))
	}
	want := []string{
		`5 segment_alloc N/A ""`,
		`10 alloc N/A ""`,
		`15 alloc inner "epoch 3"`,
		`20 alloc outer "epoch 3"`,
		`25 alloc N/A "epoch 3"`,
		`30 alloc other ""`,
		`35 free_requested N/A ""`,
		`40 free_completed N/A ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the trace entries (-want +got):\n%s", diff)
	}
	if a.UserMetadata(1) != "epoch 3" || a.UserMetadata(2) != "" {
		t.Errorf("the texts are %q and %q", a.UserMetadata(1), a.UserMetadata(2))
	}
}

// TestAnnotations: annotations have a ring too, one for all devices.
func TestAnnotations(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(2, spec.GiB)}), "")
	fields := []spec.AnnotationField{{Key: "stage", Value: "one"}}
	a.Annotate(0, fields) // nothing is recorded
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 2}))
	for i := range 3 {
		fields[0].Value = fmt.Sprint(i) // the annotation is a copy
		a.Annotate(spec.Device(i%2), fields)
	}
	want := func(want ...spec.Annotation) {
		t.Helper()
		s, err := a.Snapshot()
		must(t, err)
		if diff := cmp.Diff(want, s.Annotations); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
	}
	want(
		spec.Annotation{Device: 1, Fields: []spec.AnnotationField{{Key: "stage", Value: "1"}}},
		spec.Annotation{Device: 0, Fields: []spec.AnnotationField{{Key: "stage", Value: "2"}}})
	must(t, a.RecordHistory(spec.HistoryOptions{}))
	want()
}

// TestRecordHistoryRefuses: invalid options change nothing.
func TestRecordHistoryRefuses(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	must(t, a.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 9}))
	mustMalloc(t, a, 0, 512)
	for _, h := range []spec.HistoryOptions{
		{Enabled: true, Clear: true, Level: spec.ContextAll},
		{Level: spec.ContextAll + 1},
		{Level: spec.ContextNever - 1},
	} {
		wantError[*spec.InvalidArgumentError](t, a.RecordHistory(h), "context")
	}
	if !a.HistoryEnabled() || len(traceOf(t, a, 0)) != 2 {
		t.Errorf("enabled is %v, the trace entries are %q", a.HistoryEnabled(), traceOf(t, a, 0))
	}
}

// TestDisabledHistoryAsksForNoContext: while nothing is recorded nobody is asked for contexts.
func TestDisabledHistoryAsksForNoContext(t *testing.T) {
	a := newAllocator(t, fakegpu.New(fakegpu.Config{}), "")
	context := func() any {
		t.Error("a context was asked for")
		return nil
	}
	must(t, a.RecordHistory(spec.HistoryOptions{Level: spec.ContextAll, Context: context}))
	must(t, a.Free(mustMalloc(t, a, 0, 512)))
	must(t, a.EmptyCache())
}
