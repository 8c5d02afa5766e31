package run

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rankTruth is what a rank of testdata/parallel.py did on two H200s, in one of several runs (PyTorch 2.11).
type rankTruth struct {
	Rank          int    `json:"rank"`
	PeakReserved  uint64 `json:"peak_reserved"`
	PeakAllocated uint64 `json:"peak_allocated"`
	Outside       uint64 `json:"outside"` // memory of the process that is not the allocator's
}

// torchrun starts testdata/parallel.py as so many processes. KIND.expandable is KIND with expandable segments.
func torchrun(t *testing.T, python, kind string, processes int) (*Result, string) {
	t.Helper()
	settings := ""
	if is, found := strings.CutSuffix(kind, ".expandable"); found {
		kind, settings = is, "expandable_segments:True"
	}
	out := filepath.Join(t.TempDir(), "out")
	command := []string{python, "-m", "torch.distributed.run", "--nproc-per-node", fmt.Sprint(processes), filepath.Join("testdata", "parallel.py"), kind, out}
	return runs(t, Options{Command: command, Settings: settings}, 0), out
}

// What the ranks of a program tell each other by NCCL arrives, with objects, groups and barriers.
func TestTorchObjects(t *testing.T) {
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			r, _ := torchrun(t, python, "objects", 3)
			if len(r.ranks()) != 3 {
				t.Errorf("%+v", r.Processes)
			}
		})
	}
}

// alike are the kinds of which all runs of a rank on the H200s had the same peak, and which have it here.
var alike = []string{"fsdp2", "pipeline", "tensor"}

// Programs in parallel reserve on each rank what they reserved in one of the runs on two H200s, or what
// is between them, and allocate as much within 1 %.
func TestTorchParallel(t *testing.T) {
	python := pythons(t)[0]
	var truths map[string][]rankTruth
	if err := readJSON(filepath.Join("testdata", "parallel.json"), &truths); err != nil {
		t.Fatal(err)
	}
	for _, kind := range slices.Sorted(maps.Keys(truths)) {
		t.Run(kind, func(t *testing.T) {
			_, out := torchrun(t, python, kind, 2)
			for rank := range 2 {
				var got rankTruth
				if err := readJSON(fmt.Sprintf("%s.rank%d.json", out, rank), &got); err != nil {
					t.Fatal(err)
				}
				of := slices.DeleteFunc(slices.Clone(truths[kind]), func(x rankTruth) bool { return x.Rank != rank })
				byReserved := func(a, b rankTruth) int { return int(int64(a.PeakReserved) - int64(b.PeakReserved)) }
				least, most := slices.MinFunc(of, byReserved), slices.MaxFunc(of, byReserved)
				low, high := off(got.PeakReserved, least.PeakReserved), off(got.PeakReserved, most.PeakReserved)
				t.Logf("rank %d: reserved %d, on the H200s %d to %d; outside %+.1f %%", rank, got.PeakReserved, least.PeakReserved, most.PeakReserved, off(got.Outside, least.Outside))
				allowed := 5.0
				if slices.Contains(alike, kind) {
					allowed = 0
				}
				if low < -allowed || high > allowed {
					t.Errorf("rank %d reserved %d, on the H200s %d to %d", rank, got.PeakReserved, least.PeakReserved, most.PeakReserved)
				}
			}
		})
	}
}

// One rank of many runs alone: its groups have all ranks, and what they would say is taken to be what it says.
func TestTorchAlone(t *testing.T) {
	python := pythons(t)[0]
	for _, kind := range []string{"ddp", "fsdp1", "fsdp2"} {
		for _, ranks := range []int{64, 1024} {
			t.Run(fmt.Sprintf("%s of %d", kind, ranks), func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "out")
				r := runs(t, Options{Command: []string{python, filepath.Join("testdata", "parallel.py"), kind, out}, WorldSize: ranks}, 0)
				_, device := r.Worst()
				if device == nil || r.Processes[0].Rank != "0" {
					t.Fatalf("%+v", r)
				}
				t.Logf("reserved %d in %.1f s", device.PeakReserved, r.Seconds)
			})
		}
	}
}
