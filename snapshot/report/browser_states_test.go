package report

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/allrows"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// stateInBrowser is what a page says of the state after an entry.
type stateInBrowser struct {
	Entry, Slider       int
	Allocated, Reserved uint64
	Segments, Blocks    int
	Took                float64 // milliseconds
	Does, Segment       string
	Cells               []string // of the table of the first segment's blocks
	Stacks              int      // in it
}

// TestAnyEntryInBrowser: a page of many entries (a million if all rows are asked for), and those of recorded runs, whole and late, have
// the state after any entry.
func TestAnyEntryInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes a while")
	}
	program := browser(t)
	many := 100_000
	if allrows.Asked() {
		many = 1_000_000
	}
	for i, file := range []string{
		"", // many entries
		"snapshots/gpt_oom7.default.limit.pickle.gz",
		"snapshots/two_streams.default.nolimit.pickle.gz",
		"late/detect_late.default.nolimit.pickle.gz", // a run recorded late
		"snapshots/gpt_cut.default.nolimit.pickle.gz",
		"snapshots/compiled.default.nolimit.pickle.gz", // a pool of CUDA graphs
	} {
		if allrows.Without(i, 3) {
			continue
		}
		t.Run(path.Base(file), func(t *testing.T) {
			var f *snapshot.File
			if file == "" {
				f = manyEntries(many)
			} else {
				f = open(t, "../tell/testdata/"+file)
			}
			last := len(f.DeviceTraces[0]) - 1
			d := build(t, f)
			if file == "" && (last < many-1 || d.States.First != 0) {
				t.Fatalf("%d entries, the first state is %d", last+1, d.States.First)
			}
			var used struct {
				Error  string
				States []stateInBrowser
				Saved  States
			}
			// The middle, then back, and forward again.
			drive(t, program, pageOf(d), "states.js", []int{last / 2, 1, last, 0, last/3 + 1}, &used)
			if used.Error != "" {
				t.Fatal(used.Error)
			}
			compareStates(t, f, used.States)
			if diff := cmp.Diff(d.States, used.Saved, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Stacks" }, cmp.Ignore())); diff != "" {
				t.Errorf("saved (-report +page):\n%.2000s", diff)
			}
		})
	}
}

// compareStates compares what a page says with the history.
func compareStates(t *testing.T, f *snapshot.File, told []stateInBrowser) {
	t.Helper()
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range told {
		s := newAllocatorState(w.InitialSegments, w.Settings, nil)
		for i := range w.Trace[:got.Entry+1] {
			s.add(i, &w.Trace[i])
		}
		segments := s.segments(0)
		want := stateInBrowser{Entry: got.Entry, Slider: got.Entry, Allocated: s.allocatedBytes, Reserved: s.reservedBytes, Segments: len(segments), Blocks: s.active.Len()}
		if want.Entry != got.Entry || want.Slider != got.Slider || want.Allocated != got.Allocated || want.Reserved != got.Reserved || want.Segments != got.Segments || want.Blocks != got.Blocks {
			t.Errorf("the page says %+v, want %+v", got, want)
		}
		if len(segments) == 0 {
			continue
		}
		first, active := &segments[0], 0
		for _, b := range first.Blocks {
			if b.State != spec.Inactive {
				active++
			}
		}
		if !strings.Contains(got.Segment, first.Address.String()+", ") || len(got.Cells) != 5*max(min(active, 200), 1) && active > 0 {
			t.Errorf("after entry %d: %q, %d cells for %d blocks", got.Entry, got.Segment, len(got.Cells), active)
		}
		if e := &w.Trace[got.Entry]; e.Action == spec.ActionAlloc && !strings.Contains(got.Does, "allocates") || !strings.Contains(got.Does, e.Addr.String()) && e.Action != spec.ActionOOM && e.Action != spec.ActionSegmentAlloc {
			t.Errorf("entry %d, %v at %v: the page says that it %q", got.Entry, e.Action, e.Addr, got.Does)
		}
		t.Logf("entry %d: %.0f ms; %s; %s", got.Entry, got.Took, got.Does, got.Segment)
	}
}
