package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

const pinnedMiB = 1 << 20

// TestHost: pinned host memory of a program that PyTorch 2.15 recorded: three batches of 4 MiB and a
// block of 256 KiB; one of each is freed, and two are allocated, one of which takes a freed block.
func TestHost(t *testing.T) {
	f := open(t, "../testdata/pinned-2.15.pickle")
	d := build(t, f)
	h := d.Host
	if h == nil || h.Peak != 12*pinnedMiB+1<<18 || h.PeakEntry != 7 || h.Allocated != h.Peak || h.Reserved != 12*pinnedMiB+2<<18 || h.MostAtOnce != h.Reserved {
		t.Fatalf("%+v", h)
	}
	if len(h.Allocations.List) != 6 || h.Allocations.Entries != len(f.HostTrace) {
		t.Errorf("%+v", h.Allocations)
	}
	got := map[string][3]uint64{}
	for _, s := range h.Sites {
		frame := d.Stacks.Frames[d.Stacks.Own[s.Stack]]
		got[frame.Name] = [3]uint64{uint64(s.Allocations), s.Peak[0], s.End[0]}
	}
	want := map[string][3]uint64{"load": {4, 12 * pinnedMiB, 12 * pinnedMiB}, "stage": {2, 1 << 18, 1 << 18}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if other := build(t, open(t, "testdata/small.json")); other.Host != nil {
		t.Error("a snapshot without pinned memory has some")
	}
}

// TestHostBeforeHistory: the history may have lost its beginning. What was allocated before shows
// when it is freed, or at the end.
func TestHostBeforeHistory(t *testing.T) {
	f := open(t, "../testdata/pinned-2.15.pickle")
	whole := build(t, f).Host
	for cut := 1; cut < len(f.HostTrace); cut++ {
		late := *f
		late.HostTrace = f.HostTrace[cut:]
		h := build(t, &late).Host
		if h.Allocated != whole.Allocated || h.Reserved != whole.Reserved || h.MostAtOnce != whole.MostAtOnce {
			t.Errorf("without %d entries: %+v", cut, h)
		}
		end := uint64(0)
		for _, a := range h.Allocations.List {
			if a[allocationEnd] == int64(len(late.HostTrace)) {
				end += uint64(a[allocationSize])
			}
		}
		if end != h.Allocated {
			t.Errorf("without %d entries: %d bytes at the end, want %d", cut, end, h.Allocated)
		}
		if cut <= 8 && h.Peak != whole.Peak { // the peak, after entry 7, is the state at the start then
			t.Errorf("without %d entries: the peak is %d, want %d", cut, h.Peak, whole.Peak)
		}
	}
	freed := &snapshot.File{Segments: f.Segments, DeviceTraces: f.DeviceTraces, HostSegments: f.HostSegments[:0],
		HostTrace: []snapshot.TraceEntry{{TraceEntry: spec.TraceEntry{Action: spec.ActionSegmentFree, Addr: 1, Size: 4096}, Context: &snapshot.Context{}}}}
	if h := build(t, freed).Host; h.Reserved != 0 || h.MostAtOnce != 4096 {
		t.Errorf("%+v", h)
	}
}
