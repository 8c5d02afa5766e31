package run

import (
	"errors"
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

// torchrun starts testdata/parallel.py as so many processes, at a port that is free. KIND.expandable is KIND with expandable
// segments.
func torchrun(t *testing.T, python, kind string, processes int) (*Result, string) {
	t.Helper()
	settings := ""
	if is, found := strings.CutSuffix(kind, ".expandable"); found {
		kind, settings = is, "expandable_segments:True"
	}
	out := filepath.Join(t.TempDir(), "out")
	command := []string{python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", fmt.Sprint(processes), filepath.Join("testdata", "parallel.py"), kind, out}
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
var alike = []string{"ddp_clip", "fsdp2", "fsdp2_accumulate", "fsdp2_kept", "fsdp2_offload", "pipeline", "tensor", "tensor_loss", "tensor_sequence"}

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
				switch {
				case slices.Contains(alike, kind):
					allowed = 0
				case kind == "ddp_accumulate":
					allowed = 6.5 // its range holds the runs, in which blocks were free later
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

// holds says what is wrong with a range, given what a rank reserved in several runs on H200s: each of them is in it, and
// it is no wider than twice what they differ by and 2 %.
func (x *RankRange) holds(truths []uint64) string {
	least, most := slices.Min(truths), slices.Max(truths)
	allowed := 2*(most-least) + most/50
	switch {
	case least < x.Least || most > x.Most:
		return fmt.Sprintf("%d to %d of the H200s are not in %d to %d", least, most, x.Least, x.Most)
	case x.Most-x.Least > allowed:
		return fmt.Sprintf("%d to %d is wider than %d", x.Least, x.Most, allowed)
	}
	return ""
}

// A range holds what was seen at its ends, and is as wide as is allowed and no wider.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		least, most uint64
		truths      []uint64
		wrong       string
	}{
		{100, 200, []uint64{150, 100, 200}, ""},
		{100, 200, []uint64{99, 150}, "not in"},
		{100, 200, []uint64{201, 150}, "not in"},
		{100, 102, []uint64{100}, ""},
		{100, 103, []uint64{100}, "wider"},
		{1000, 1223, []uint64{1000, 1100}, "wider"},
		{1000, 1222, []uint64{1000, 1100}, ""},
	} {
		got := (&RankRange{Least: c.least, Most: c.most}).holds(c.truths)
		if (got == "") != (c.wrong == "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A bounded program has what its ranks reserved in several runs, by rank. One without torchrun has one list.
type bounded struct {
	name     string
	program  []string
	settings string
	torchrun bool // as many processes as there are truths
	truths   [][]uint64
}

// boundedPrograms are those of testdata/parallel.py, of ../shared/programs on two H200s, and of ../shared/torch and
// testdata/streams.py on one. testdata/ranges.json has what all but the first reserved in runs of its own, by rank.
func boundedPrograms(t *testing.T) (all []bounded) {
	var kinds map[string][]rankTruth
	var reserved map[string][][]uint64
	if err := errors.Join(readJSON(filepath.Join("testdata", "parallel.json"), &kinds), readJSON(filepath.Join("testdata", "ranges.json"), &reserved)); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		kind, expandable := strings.CutSuffix(name, ".expandable")
		p := bounded{name: name, program: []string{filepath.Join("testdata", "parallel.py"), kind}, torchrun: true, truths: make([][]uint64, 2)}
		if expandable {
			p.settings = "expandable_segments:True"
		}
		for _, x := range kinds[name] {
			p.truths[x.Rank] = append(p.truths[x.Rank], x.PeakReserved)
		}
		all = append(all, p)
	}
	folder := shared(t)
	for _, name := range []string{"ddp.default", "ddp.expandable", "fsdp2.default", "fsdp2.expandable"} {
		kind, _, _ := strings.Cut(name, ".")
		p := bounded{name: "programs/" + name, program: []string{filepath.Join(folder, "programs2.py"), kind}, torchrun: true, truths: make([][]uint64, 2)}
		for rank := range 2 {
			for _, run := range []string{"a", "b"} {
				var x truth
				if err := readJSON(filepath.Join(folder, fmt.Sprintf("%s.%s.rank%d.json", name, run, rank)), &x); err != nil {
					t.Fatal(err)
				}
				p.settings, p.truths[rank] = x.Settings, append(p.truths[rank], x.PeakReserved)
			}
			if more := reserved[p.name]; more != nil {
				p.truths[rank] = append(p.truths[rank], more[rank]...)
			}
		}
		all = append(all, p)
	}
	workloads := filepath.Join(filepath.Dir(folder), "torch", "workloads.py")
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		if strings.HasPrefix(name, "programs/") {
			continue
		}
		kind, how, _ := strings.Cut(name, ".")
		p := bounded{name: name, program: []string{filepath.Join("testdata", "streams.py"), kind}, truths: reserved[name]}
		switch kind {
		case "two_streams":
			p.program = []string{workloads, kind, "0"}
		case "fsdp2_alone":
			p.program, p.torchrun = []string{filepath.Join(folder, "programs2.py"), "fsdp2"}, true
		}
		if how == "expandable" {
			p.settings = "expandable_segments:True"
		}
		all = append(all, p)
	}
	return all
}

// outside are the ranges that are known not to be as they should, with the reason.
var outside = map[string]string{
	"ddp.expandable, rank 0":      "2,824 MiB were seen of rank 1 alone, once in eleven runs",
	"ddp_accumulate, rank 0":      "3,220 MiB, as here at once, were seen of rank 1 alone, once in ten runs",
	"zero_wide, rank 0":           "one of ten runs had a bucket more than is tried, 4,956 MiB",
	"fsdp1_loose, rank 1":         "654 MiB wide, where 649 are allowed",
	"fsdp1_parts, rank 0":         "70 MiB wide, where 53 are allowed",
	"average.default, rank 0":     nearly,
	"average.expandable, rank 0":  nearly,
	"batches.expandable, rank 0":  nearly,
	"evaluate.default, rank 0":    nearly,
	"experts.default, rank 0":     nearly,
	"reduce.default, rank 0":      nearly,
	"reduce.expandable, rank 0":   "60 MiB wide, where 47 are allowed",
	"offload.default, rank 0":     otherCode,
	"offload.expandable, rank 0":  otherCode,
	"prefetch.default, rank 0":    meetsCopies,
	"prefetch.expandable, rank 0": meetsCopies,
	"saved.default, rank 0":       meetsCopies,
	"saved.expandable, rank 0":    meetsCopies,
	"shards.default, rank 0":      "one run of ten is 18 MiB below: which shapes of bfloat16 share a kernel is an estimate",
	"stages.default, rank 0":      nearly,
	"stages.expandable, rank 0":   nearly,
}

const (
	otherCode   = "on the H200 the host waited for the device in the fifth step, to load the code of a product of another shape"
	meetsCopies = "how long an allocation of the driver waits for copies from the host differs by machine and run"

	nearly = "some percent beside the H200s, since the host's pace differs by what is called"
)

// What a program reserved in each run on H200s is in the range that --range tells, of each rank, and the range is not
// much wider.
func TestTorchRanges(t *testing.T) {
	python := pythons(t)[0]
	var rows []string
	for _, p := range boundedPrograms(t) {
		t.Run(p.name, func(t *testing.T) {
			command := []string{python}
			if p.torchrun {
				command = append(command, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", fmt.Sprint(len(p.truths)))
			}
			o := Options{Command: append(append(command, p.program...), filepath.Join(t.TempDir(), "out")), Settings: p.settings}
			first := runs(t, o, 0)
			r := &Record{Result: first, Summary: first.Summarize()}
			err := r.Bound(func(s Schedule) (*Result, error) {
				timed := o
				timed.Schedule, timed.Streams = s, true
				x := runs(t, timed, 0)
				t.Logf("%+v: %d MiB, of ranks %v", s, x.Summarize().PeakReserved>>20, x.ranks())
				return x, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for rank, truths := range p.truths {
				x := RankRange{Least: r.Range.Least, Most: r.Range.Most}
				if len(r.Range.Ranks) > 0 {
					x = r.Range.Ranks[rank]
				} else if all := r.ranks(); len(all) > 1 {
					x.Least, x.Most = all[rank].reserved, all[rank].reserved
				}
				wrong := x.holds(truths)
				rows = append(rows, fmt.Sprintf("| %s, rank %d | %d to %d | %d to %d | %s |", p.name, rank,
					slices.Min(truths)>>20, slices.Max(truths)>>20, x.Least>>20, x.Most>>20, wrong))
				if known := outside[fmt.Sprintf("%s, rank %d", p.name, rank)]; (wrong != "") != (known != "") {
					t.Errorf("rank %d: %q, known: %q", rank, wrong, known)
				}
			}
		})
	}
	t.Log("\n| program | H200s, MiB | range | |\n|---|---|---|---|\n" + strings.Join(rows, "\n"))
}
