package report

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// TestNoHistoryIsComplete: without a history there is nothing that it has lost.
func TestNoHistoryIsComplete(t *testing.T) {
	if d := buildNamed(t, held(map[string]uint64{"a": 512}), "A"); !d.Summary.Complete {
		t.Error("the beginning is missing")
	}
}

// TestStatisticsAtStart: what is allocated at the start counts.
func TestStatisticsAtStart(t *testing.T) {
	s := newAllocatorState([]spec.Segment{{TotalSize: 2048, Blocks: []spec.Block{
		{Size: 1024, RequestedSize: 1000, State: spec.ActiveAllocated}, {Address: 1024, Size: 512, RequestedSize: 500, State: spec.ActivePendingFree}, {Address: 1536, Size: 512},
	}}}, history.DefaultSettings(), nil)
	for kind, want := range map[int]uint64{reservedMemory: 2048, activeMemory: 1536, requestedMemory: 1500, activeAllocs: 2, allocatedMemory: 1024, allocations: 1} {
		if got := s.statistics[kind]; got.Current != want || got.Peak != want {
			t.Errorf("statistic %d: %+v, want %d", kind, got, want)
		}
	}
}

// TestMaximaOfRanges: the maximum of each range of values is the first of the largest.
func TestMaximaOfRanges(t *testing.T) {
	for _, values := range [][]uint64{{5}, {1, 2}, {2, 2, 2, 2}, {9, 1, 2, 3, 9, 8, 7, 6, 9, 9, 1}, {7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8}, {0, 0, 3, 0, 0, 3, 0, 0, 0, 1, 1, 3}} {
		m := newMaxima(values)
		for first := range values {
			for last := first; last < len(values); last++ {
				want := first
				for i := first; i <= last; i++ {
					if values[i] > values[want] {
						want = i
					}
				}
				if got := m.in(first, last); got != want {
					t.Errorf("%v from %d to %d: %d, not %d", values, first, last, got, want)
				}
			}
		}
	}
}

// TestListedOOMs: the first requests that failed are listed, and all are counted.
func TestListedOOMs(t *testing.T) {
	const most = 4                                                        // of a report that shares the page with many
	for _, n := range []int{1, most, most + 1, 2 * most, -1, -most - 1} { // below 0 the history begins with them
		f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{nil}}
		add := func(a spec.Action, at spec.Ptr) {
			f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, TimeUS: int64(100 + len(f.DeviceTraces[0])), Context: &snapshot.Context{}})
		}
		first := 0
		if n > 0 {
			add(spec.ActionSegmentAlloc, 1<<30)
			first = 1
		}
		n = max(n, -n)
		for range n {
			add(spec.ActionOOM, 100)
		}
		d, err := Build(f, Options{Share: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.OOMs) != min(n, most) || d.Summary.OOMs != n || d.Summary.Requests != n || d.OOMs[0].Entry != first || d.OOMs[0].TimeUS != int64(first) || d.layout("oom").Entry != first {
			t.Errorf("%d failed: %+v of %d are listed, the first layout is at %d", n, d.OOMs, d.Summary.OOMs, d.layout("oom").Entry)
		}
	}
}
