package run

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gaugeblock/internal/brief"
	"gaugeblock/spec"
)

func told(r Result) string {
	var b strings.Builder
	r.Tell(&b, nil)
	return b.String()
}

func TestVerdict(t *testing.T) {
	const gib = spec.GiB
	ran := Device{PeakReserved: 12 * gib, PeakAllocated: 10 * gib}
	full := OutOfMemory{Asked: 2 * gib, Limit: 24 * gib, Free: gib, Step: 3, At: "train.py:88", Reserved: 22 * gib, Allocated: 22 * gib}
	pieces := OutOfMemory{Asked: 2 * gib, Limit: 24 * gib, Free: gib, Reserved: 22 * gib, Allocated: 18 * gib}
	limited := OutOfMemory{Asked: 2 * gib, Limit: 8 * gib, Free: 16 * gib, Reserved: 7 * gib, Allocated: 7 * gib}
	ofNCCL := OutOfMemory{By: "NCCL", Asked: 2 * gib, Limit: 15 * gib, Free: gib, Step: 3, At: "train.py:88", Reserved: 12 * gib, Allocated: 9 * gib}
	deep := full
	deep.At = "../../projects/model/experiments/training/loop/train.py:88"
	const ended = "torch.OutOfMemoryError"
	for name, c := range map[string]struct {
		result Result
		want   []string
	}{
		"nothing":           {Result{}, []string{"no process allocated"}},
		"lost":              {Result{Unanswered: []int{5, 6}}, []string{"no answer: 2 processes used a GPU, and ended without one"}},
		"one lost":          {Result{Unanswered: []int{5}, Processes: []Answer{{Devices: []Device{ran}}}}, []string{"peak reserved 12.00 GiB", "it did not run out of memory", "1 process of 2 that used a GPU ended without an answer, and may have needed more"}},
		"no signal":         {Result{Status: 128}, []string{"no process allocated"}},
		"the first signal":  {Result{Status: 129}, []string{"ended by signal 1\n"}},
		"another allocator": {Result{Processes: []Answer{{PID: 7, OtherAllocator: "pluggable"}}}, []string{"no answer: process 7 allocates by pluggable, and PyTorch's own"}},
		"another process's allocator": {Result{Processes: []Answer{{PID: 7, Devices: []Device{ran}}, {PID: 8, OtherAllocator: "cudaMallocAsync"}}},
			[]string{"peak reserved 12.00 GiB", "process 8 allocates by cudaMallocAsync, and PyTorch's own"}},
		"fits": {Result{GPU: "h200", Memory: 139 * gib, Processes: []Answer{{Devices: []Device{ran}}}},
			[]string{"peak reserved 12.00 GiB, allocated 10.00 GiB, on h200", "it did not run out of memory", "--gpu t4 (14.56 GiB)"}},
		"interrupted": {Result{Interrupted: true, Processes: []Answer{{Devices: []Device{ran}}}}, []string{"interrupted; until then it did not run out"}},
		"an error of the program": {Result{GPU: "h200", Memory: 139 * gib, Status: 1, Processes: []Answer{{Uncaught: "ValueError", Devices: []Device{ran}}}},
			[]string{"the program ended with status 1; until then it did not run out of memory\n", "if it ended too early, it may need more than that\n"}},
		"full": {Result{GPU: "4090", Memory: 24 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{full}, Devices: []Device{ran}}}},
			[]string{"out of memory at train.py:88 (step 3): asked 2.00 GiB; free 1024.00 MiB, idle 0 bytes", "1024.00 MiB lack at this request: try smaller batches, or at least --gpu 5090"}},
		"pieces": {Result{Memory: 24 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"free 1024.00 MiB, idle 4.00 GiB", "enough memory, but in pieces: try smaller batches; whether settings help is not known"}},
		"pieces, and a history without stacks": {Result{Memory: 24 * gib, Settings: &OtherSettings{NoStacks: true}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"enough memory, but in pieces: --report PAGE.html tells more of other settings\n"}},
		"pieces, and long settings": {Result{Memory: 24 * gib, Settings: &OtherSettings{Advised: "expandable_segments:True,large_segment_size_mb:12"}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"gaugeblock:   expandable_segments:True,large_segment_size_mb:12, likely enough\n"}},
		"a peak between two GPUs": {Result{GPU: "h200", Memory: 139 * gib, Processes: []Answer{{Devices: []Device{{PeakReserved: 15 * gib, PeakAllocated: 13 * gib, Retries: 1}}}}},
			[]string{"freed its unused segments once to go on", "--gpu l4 has so much (22.03 GiB); a smaller one may do"}},
		"a peak that only the largest have, and less allocated": {Result{GPU: "h200", Memory: 139 * gib, Processes: []Answer{{Devices: []Device{{PeakReserved: 138 * gib, PeakAllocated: 13 * gib, Retries: 2}}}}},
			[]string{"freed its unused segments 2 times to go on", "a smaller GPU may do, since cached memory is freed there: --gpu t4 tries it\n"}},
		"full on the largest": {Result{Memory: 999 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{{Asked: gib, Limit: 999 * gib, Reserved: 999 * gib, Allocated: 999 * gib}}, Devices: []Device{ran}}}},
			[]string{"1024.00 MiB lack at this request: try smaller batches\n"}},
		"the smallest GPU": {Result{GPU: "t4", Memory: 14 * gib, Processes: []Answer{{Devices: []Device{ran}}}}, []string{"the table has no smaller GPU"}},
		"more than the next GPU has": {Result{GPU: "l4", Memory: 23653777408, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{{Asked: gib, Limit: 22 * gib, Reserved: 22 * gib, Allocated: 22 * gib}}, Devices: []Device{ran}}}},
			[]string{"1024.00 MiB lack at this request: try smaller batches, or at least --gpu 4090"}},
		"pieces, and settings that join them": {Result{Memory: 24 * gib, Settings: &OtherSettings{Advised: "max_split_size_mb:64", Sure: true}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"enough memory, but in pieces: try --settings max_split_size_mb:64\n"}},
		"pieces, and settings that may join them": {Result{Memory: 24 * gib, Settings: &OtherSettings{Advised: "max_split_size_mb:64"}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"try --settings max_split_size_mb:64, likely enough\n"}},
		"pieces, and no settings": {Result{Memory: 24 * gib, Settings: &OtherSettings{Sure: true}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{pieces}, Devices: []Device{ran}}}},
			[]string{"enough memory, but in pieces: try smaller batches; no setting compared suffices"}},
		"full, and settings all the same": {Result{GPU: "4090", Memory: 24 * gib, Settings: &OtherSettings{Advised: "roundup_power2_divisions:4", Sure: true}, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{full}, Devices: []Device{ran}}}},
			[]string{"1024.00 MiB lack: try --settings roundup_power2_divisions:4\n"}},
		"NCCL has none": {Result{GPU: "t4", Memory: 14 * gib, Status: 1, Processes: []Answer{{Uncaught: "torch.distributed.DistBackendError", OOMs: []OutOfMemory{ofNCCL}, Devices: []Device{ran}}}},
			[]string{"out of memory at train.py:88 (step 3): NCCL asked 2.00 GiB; free 1024.00 MiB, idle 3.00", "NCCL takes memory beside PyTorch's: try smaller batches, or at least --gpu l4\n"}},
		"NCCL has none on the largest": {Result{Memory: 999 * gib, Processes: []Answer{{OOMs: []OutOfMemory{{By: "NCCL", Asked: 1, Limit: 999 * gib}}, Devices: []Device{ran}}}}, []string{"try smaller batches\n"}},
		"caught": {Result{Memory: 24 * gib, Processes: []Answer{{OOMs: []OutOfMemory{limited}, Devices: []Device{ran}}}},
			[]string{"it went on after a failed request (step 0): asked 2.00 GiB; free 1024.00 MiB"}},
		"ranks": {Result{Processes: []Answer{{Rank: "0", Devices: []Device{{}}}, {Rank: "1", Devices: []Device{ran}}}}, []string{"rank 1 of 2"}},
		"long path": {Result{GPU: "4090", Memory: 24 * gib, Processes: []Answer{{Uncaught: ended, OOMs: []OutOfMemory{deep}, Devices: []Device{ran}}}},
			[]string{"out of memory at …/train.py:88 (step 3): asked"}},
		"new": {Result{Processes: []Answer{{Torch: "2.99.1+cu140", Devices: []Device{ran}}}}, []string{"nobody has tried PyTorch 2.99.1 with"}},
		"sizes": {Result{Processes: []Answer{{Devices: []Device{ran}, Decisions: map[string]int{"a.py:1 nonzero": 3, "a.py:7 item": 1}}}},
			[]string{"4 decisions rest on unknown values, 3 of them sizes: a.py:1 nonzero, and 1 more", "a lower bound (--assume most: the upper)\n"}},
		"sizes by a long kind": {Result{Processes: []Answer{{Devices: []Device{ran}, Decisions: map[string]int{"training/speech/ctc.py:57 unique_consecutive of a float comparison": 16}}}},
			[]string{"unique_consecutive of\ngaugeblock:   a float comparison\n"}},
		"no cuDNN": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Asked: 25, WithoutLibrary: 25, Wheel: "nvidia-cudnn-cu13==9.19.0.56"}}}},
			[]string{"cuDNN's workspaces count as 0 (25 plans, mostly convolutions): peaks may be far too low\n", "pip install --no-deps nvidia-cudnn-cu13==9.19.0.56\n"}},
		"cuDNN switched off": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Asked: 1, WithoutLibrary: 1, There: true, Off: true}}}},
			[]string{"count as 0 (1 plan, mostly", "NVIDIA's library is there: leave out --cudnn none\n"}},
		"cuDNN not usable": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Asked: 1, WithoutLibrary: 1, There: true}}}}, []string{"could not be used"}},
		"cuDNN without its compiler": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Asked: 9, NotCompiled: 2, There: true, Compiler: "'nvidia-cuda-nvrtc==13.0.*'"}}}},
			[]string{"count as 0 (2 plans, not compiled)", "pip install --no-deps 'nvidia-cuda-nvrtc==13.0.*'\n"}},
		"cuDNN's estimates": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Asked: 32, Estimated: 2, LargestEstimate: 64 << 20, There: true}}}},
			[]string{"2 of 32 workspaces of cuDNN are estimates, the largest 64.00 MiB\n"}},
		"cuDNN not asked": {Result{Processes: []Answer{{Devices: []Device{ran}, CuDNN: CuDNN{Off: true}}}}, []string{"what is allocated fits\n"}},
		"no sizes": {Result{Processes: []Answer{{Devices: []Device{ran}, Decisions: map[string]int{"a.py:7 item": 1}}}},
			[]string{"1 decision rests on an unknown value, no size: a.py:7 item"}},
	} {
		for line := range strings.Lines(told(c.result)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > brief.Columns {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
		if got := told(c.result); strings.Contains(got, "...") {
			t.Errorf("%s: something is cut: %s", name, got)
		}
		for _, want := range c.want {
			if got := told(c.result); !strings.Contains(got, want) {
				t.Errorf("%s: %s has not %q", name, got, want)
			}
		}
	}
}

// TestDoubtsOfCuDNN: one plan or workspace is doubted as many are.
func TestDoubtsOfCuDNN(t *testing.T) {
	for _, c := range []struct {
		of   CuDNN
		want []string
	}{
		{CuDNN{Asked: 3}, nil},
		{CuDNN{Asked: 3, NotCompiled: 1, Compiler: "nvrtc"}, []string{"cuDNN's workspaces count as 0 (1 plan, not compiled): peaks may be far too low", "to know them: pip install --no-deps nvrtc"}},
		{CuDNN{Asked: 3, Estimated: 1, LargestEstimate: 1 << 20}, []string{"1 of 3 workspaces of cuDNN are estimates, the largest 1024.00 KiB"}},
		{CuDNN{Asked: 3, WithoutLibrary: 1, Wheel: "cudnn"}, []string{"cuDNN's workspaces count as 0 (1 plan, mostly convolutions): peaks may be far too low", "to know them: pip install --no-deps cudnn"}},
		{CuDNN{Asked: 3, WithoutLibrary: 2, There: true, Off: true}, []string{"cuDNN's workspaces count as 0 (2 plans, mostly convolutions): peaks may be far too low", "NVIDIA's library is there: leave out --cudnn none"}},
		{CuDNN{Asked: 3, WithoutLibrary: 2, There: true}, []string{"cuDNN's workspaces count as 0 (2 plans, mostly convolutions): peaks may be far too low", "NVIDIA's library is there, but could not be used: a line above says why"}},
	} {
		if got := c.of.doubts(); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c.of, got)
		}
	}
}

// Nothing is doubted without a reason, and each reason is told.
func TestDoubts(t *testing.T) {
	for name, c := range map[string]struct {
		answer Answer
		want   []string
	}{
		"none":       {Answer{}, nil},
		"cuDNN":      {Answer{CuDNN: CuDNN{Asked: 5, There: true}}, nil},
		"no values":  {Answer{NoValues: "no compiler"}, []string{"no compiler"}},
		"one, sized": {Answer{Decisions: map[string]int{"a.py:1 nonzero": 1}}, []string{"1 decision rests on an unknown value, a size: a.py:1 nonzero"}},
		"a loop": {Answer{Decisions: map[string]int{"a.py:1 item": 301}, Turned: map[string]int{"a.py:1 item": 1}}, []string{
			"301 decisions rest on unknown values, 0 of them sizes: a.py:1 item",
			"loops that waited for unknown values were taken to end (--patience): a.py:1 item",
		}},
	} {
		if got := c.answer.doubts(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What comes from the program does not reach the terminal as it is.
func TestVerdictIsQuoted(t *testing.T) {
	bad := OutOfMemory{Asked: 1, At: "a\x1b[2J.py:1"}
	r := Result{Memory: spec.GiB, Processes: []Answer{{Uncaught: "torch.OutOfMemoryError", OOMs: []OutOfMemory{bad},
		Devices: []Device{{}}, Decisions: map[string]int{"b\x1b.py:7 item": 1}}}}
	if got := told(r); strings.Contains(got, "\x1b") || !strings.Contains(got, `a\u001b[2J.py:1`) || !strings.Contains(got, `b\u001b.py:7`) {
		t.Errorf("%q", got)
	}
}

// The answers of ranks are in the order of their numbers.
func TestCollect(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"7.json": `{"pid": 7, "rank": "10"}`, "8.json": `{"pid": 8, "rank": "2"}`, "9.progress": "{"} {
		write(t, folder, name, text)
	}
	r, err := collect(folder)
	if err != nil || len(r.Processes) != 2 || r.Processes[0].PID != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	write(t, folder, "7.json", "{")
	if _, err := collect(folder); err == nil || !strings.Contains(err.Error(), "7.json") {
		t.Errorf("a broken answer: %v", err)
	}
}
