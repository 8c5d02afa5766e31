package fit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/tools/run"
)

// program writes the answer that PyTorch in it would write: it takes 1 GiB and 100 MiB for each
// sample, and 50 samples end it for another reason.
const program = `#!/bin/sh
n=${1:-$BATCH}
echo "sample $n"
if [ "$n" = 50 ]; then echo "no such sample" >&2; exit 3; fi
peak=$(( 1073741824 + n * 104857600 ))
device='"device": 0, "peak_reserved": '$peak', "peak_allocated": '$peak
if [ "$peak" -gt "$ROOM" ]; then
	echo '{"pid": 1, "uncaught": "torch.OutOfMemoryError", "ooms": [{"at": "train.py:7"}], "devices": [{'$device'}]}' > "$GAUGEBLOCK_RUN_FOLDER/1.json"
	exit 1
fi
echo '{"pid": 1, "devices": [{'$device'}]}' > "$GAUGEBLOCK_RUN_FOLDER/1.json"
`

// options are those of a search with the program, for which no library is needed.
func options(t *testing.T, variable string, room string, arguments ...string) Options {
	t.Helper()
	libraries := t.TempDir()
	for _, name := range append(cuda.Thin(), "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", cuda.MachineName) {
		write(t, filepath.Join(libraries, name), "", 0o644)
	}
	t.Setenv(run.LibrariesVariable, libraries)
	t.Setenv("ROOM", room)
	path := filepath.Join(t.TempDir(), "program")
	write(t, path, program, 0o755)
	v, err := ParseVariable(variable)
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "" {
		t.Setenv(v.Name, "") // so that it is as before at the end
	}
	return Options{
		Run:      run.Options{Command: append([]string{path}, arguments...), GPUs: 1, Say: func(string) {}},
		Variable: v, GPUs: gpus.All[:1], Tried: func(gpus.GPU, Try) {}, Stopped: func() bool { return false },
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func told(a Answer) string {
	var b strings.Builder
	a.Tell(&b)
	return b.String()
}

func TestFit(t *testing.T) {
	const fourGiB = "4294967296" // 1 GiB and 30 samples
	for name, o := range map[string]Options{
		"variable": options(t, "BATCH=1..40", fourGiB),
		"argument": options(t, "1..40", fourGiB, "{}"),
	} {
		answers, err := Fit(o)
		if err != nil || len(answers) != 1 {
			t.Fatalf("%s: %v, %v", name, answers, err)
		}
		a := answers[0]
		if a.Largest == nil || *a.Largest != 30 || !a.Sure {
			t.Errorf("%s: %+v", name, a)
		}
		for _, want := range []string{"30 ", "out of memory at train.py:7", "that fits: 30\n"} {
			if !strings.Contains(told(a), want) {
				t.Errorf("%s: %s has not %q", name, told(a), want)
			}
		}
	}
}

// A failure that is not for want of memory is an error with what the program printed, and the
// answer so far is there.
func TestFitFails(t *testing.T) {
	answers, err := Fit(options(t, "BATCH=1..50", "99999999999999"))
	if err == nil || !strings.Contains(err.Error(), "with the value 50 on h200: the program ended with 3, and not for want of memory") ||
		!strings.Contains(err.Error(), "sample 50\nno such sample") {
		t.Error(err)
	}
	if len(answers) != 1 || answers[0].largest() != "1 or more" {
		t.Errorf("%+v", answers)
	}
}

func TestFitNothing(t *testing.T) {
	answers, err := Fit(options(t, "BATCH=1..9", "1000"))
	if err != nil || answers[0].Largest != nil || answers[0].largest() != "none" {
		t.Errorf("%+v, %v", answers, err)
	}
}

func TestFitInterrupted(t *testing.T) {
	o := options(t, "BATCH=1..9", "9999999999")
	runs := 0
	o.Tried = func(gpus.GPU, Try) { runs++ }
	o.Stopped = func() bool { return runs == 1 }
	answers, err := Fit(o)
	if err != nil || !answers[0].Interrupted || answers[0].largest() != "1 or more" || !strings.Contains(told(answers[0]), "so far") {
		t.Errorf("%+v, %v", answers, err)
	}
}

// Several GPUs are a line each, the smallest first.
func TestFitGPUs(t *testing.T) {
	o := options(t, "BATCH=1..20", "2147483648")
	o.GPUs = gpus.All[:3]
	answers, err := Fit(o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	TellAll(&b, answers)
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[1], "h100 ") || !strings.Contains(lines[1], " 10 ") || !strings.HasPrefix(lines[3], "b200 ") {
		t.Error(b.String())
	}
}

// Runs that say nothing of memory are no answer, and a program that goes on without memory is told.
func TestTryOf(t *testing.T) {
	device := []run.Device{{PeakReserved: 7}}
	oom := []run.OutOfMemory{{At: "x.py:1"}}
	for name, c := range map[string]struct {
		r       run.Result
		outcome string
	}{
		"runs":              {run.Result{Processes: []run.Answer{{Devices: device}}}, "runs"},
		"goes on":           {run.Result{Processes: []run.Answer{{Devices: device, OOMs: oom}}}, "runs; it went on after 1 failed request"},
		"no GPU":            {run.Result{}, ""},
		"no request served": {run.Result{Processes: []run.Answer{{OOMs: oom}}}, "runs; it went on after 1 failed request"},
		"in pieces":         {run.Result{Status: 1, Processes: []run.Answer{{Devices: device, OOMs: []run.OutOfMemory{{At: "x.py:1", Asked: 2, Reserved: 3, Allocated: 1, Limit: 3}}, Uncaught: "torch.OutOfMemoryError"}}}, "out of memory at x.py:1: enough memory, but in pieces"},
		"exits by itself":   {run.Result{Status: 5, Processes: []run.Answer{{Devices: device, OOMs: oom}}}, "out of memory at x.py:1"},
		"another exception": {run.Result{Status: 1, Processes: []run.Answer{{Devices: device, OOMs: oom, Uncaught: "builtins.KeyError"}}}, ""},
		"a rank":            {run.Result{Status: 1, Processes: []run.Answer{{Uncaught: "x.Failed"}, {Devices: device, OOMs: oom, Uncaught: "torch.OutOfMemoryError"}}}, "out of memory at x.py:1"},
		"killed":            {run.Result{Status: 137, Processes: []run.Answer{{Devices: device}}}, ""},
	} {
		try, err := tryOf(&c.r, 3)
		if (err != nil) != (c.outcome == "") || err == nil && try.Outcome() != c.outcome {
			t.Errorf("%s: %q, %v", name, try.Outcome(), err)
		}
	}
}

func TestParseVariable(t *testing.T) {
	for _, text := range []string{"BATCH", "BATCH=", "=1..2", "BATCH=2..1", "BATCH=a..3", "1...2", "-1..3", "BATCH=1..2..3", "BATCH=1..99999999999999999999"} {
		if v, err := ParseVariable(text); err == nil {
			t.Errorf("%s is %+v", text, v)
		}
	}
	if _, err := (Variable{Low: 1, High: 2}).Command([]string{"python"}, 1); err == nil {
		t.Error("a value that goes nowhere is accepted")
	}
}

// The peak does not depend on the variable: the program may not read it.
func TestFitSame(t *testing.T) {
	a := Answer{Name: "BATCH", Tries: []Try{{Value: 1, PeakAllocated: 5}, {Value: 9, PeakAllocated: 5}}}
	if !strings.Contains(told(a), "does the program read BATCH?") {
		t.Error(told(a))
	}
}

// A program that takes less when memory is short has no sharp edge.
func TestFitTakesLess(t *testing.T) {
	largest := 7
	for failed, want := range map[int]bool{0: false, 2: true} {
		a := Answer{Largest: &largest, Sure: true, Tries: []Try{{Value: 6, Fits: true, Failed: 1}, {Value: 7, Fits: true, Failed: failed, PeakAllocated: 1}}}
		if strings.Contains(told(a), "the edge may be beside it") != want {
			t.Error(told(a))
		}
	}
}

// TestTellAll: a line for each GPU, with what makes its answer doubtful, and then what the last one rests on.
func TestTellAll(t *testing.T) {
	four, eight := 4, 8
	answers := []Answer{
		{Name: "BATCH", GPU: "t4", Memory: 14 << 30, Largest: &four, Sure: true, High: 9, Exceptions: []int{3}, Tries: []Try{
			{Value: 3, InPieces: true, PeakAllocated: 1}, {Value: 4, Fits: true, PeakReserved: 3 << 30, PeakAllocated: 1}, {Value: 6, InPieces: true, PeakAllocated: 2},
			{Value: 7, PeakAllocated: 2},
		}},
		{Name: "BATCH", GPU: "l4", Memory: 22 << 30, High: 9, Interrupted: true, Tries: []Try{{Value: 4, PeakAllocated: 1}}},
		{Name: "BATCH", GPU: "h200", Memory: 139 << 30, Largest: &eight, High: 8, Sure: true, Doubts: []string{"a doubt"}, Tries: []Try{{Value: 8, Fits: true, PeakReserved: 5 << 30, PeakAllocated: 1}}},
	}
	var b strings.Builder
	TellAll(&b, answers)
	const want = `GPU   memory      largest BATCH         peak reserved  
t4    14.00 GiB   4                     3.00 GiB       3 does not fit though a larger one does: the memory does not grow with BATCH, so that still larger ones may fit too; with 6 there was enough memory, but in pieces: gaugeblock run says whether other --settings help
l4    22.00 GiB   not known                            interrupted: the answer so far
h200  139.00 GiB  8, the largest tried  5.00 GiB       
a doubt
`
	if b.String() != want {
		t.Errorf("%s\nis not\n%s", b.String(), want)
	}
}
