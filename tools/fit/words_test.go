package fit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/spec"
	"gaugeblock/tools/run"
)

// TestTell: the table of one GPU, and what follows it, word for word.
func TestTell(t *testing.T) {
	three := 3
	tries := []Try{
		{Value: 1, Fits: true, PeakReserved: 20 * spec.MiB, PeakAllocated: 10 * spec.MiB}, {Value: 2, PeakReserved: 40 * spec.MiB, PeakAllocated: 30 * spec.MiB, At: "train.py:7"},
		{Value: 3, Fits: true, PeakReserved: 60 * spec.MiB, PeakAllocated: 50 * spec.MiB, Failed: 2}, {Value: 14, InPieces: true}, {Value: 15},
	}
	a := Answer{GPU: "t4", Memory: 15 * spec.GiB, Low: 1, High: 20, Largest: &three, Exceptions: []int{2}, Interrupted: true, Tries: tries, Doubts: []string{"a doubt"}}
	const want = `value  peak reserved  allocated  on t4 (15.00 GiB)
1      20.00 MiB      10.00 MiB  runs
2      40.00 MiB      30.00 MiB  out of memory at train.py:7
3      60.00 MiB      50.00 MiB  runs; it went on after 2 failed requests
14     0 bytes        0 bytes    out of memory: enough memory, but in pieces
15     0 bytes        0 bytes    out of memory
largest value that fits: 3 or more
interrupted: the answer so far
2 does not fit though a larger one does: the memory does not grow with value, so that still larger ones may fit too
with 14 there was enough memory, but in pieces: gaugeblock run says whether other --settings help
with 3 the program went on after 2 failed requests with less: on a GPU the edge may be beside it
if it makes its batches smaller then: the largest value tried without a failure is 1
a doubt
`
	if got := told(a); got != want {
		t.Errorf("it says\n%s\nand not\n%s", got, want)
	}
	a = Answer{GPU: "h200", Name: "BATCH", Memory: spec.GiB, High: 3, Largest: &three, Sure: true, Tries: []Try{{Value: 2, Fits: true}, {Value: 3, Fits: true}}}
	const same = `BATCH  peak reserved  allocated  on h200 (1024.00 MiB)
2      0 bytes        0 bytes    runs
3      0 bytes        0 bytes    runs
largest BATCH that fits: 3, the largest tried
the peak was the same with all values: does the program read BATCH?
`
	if got := told(a); got != same {
		t.Errorf("it says\n%s\nand not\n%s", got, same)
	}
	a = Answer{GPU: "t4", Memory: spec.GiB, Sure: true, Low: 8, High: 20, Tries: []Try{{Value: 8, Asked: 3 * spec.GiB}, {Value: 9, Asked: 4 * spec.GiB}}}
	const none = `value  peak reserved  allocated  on t4 (1024.00 MiB)
8      0 bytes        0 bytes    out of memory
9      0 bytes        0 bytes    out of memory
largest value that fits: none
`
	if got := told(a); got != none {
		t.Errorf("it says\n%s\nand not\n%s", got, none)
	}
	for name, c := range map[string]struct {
		a    Answer
		want []string
	}{
		"the same request fails": {Answer{Name: "N", Sure: true, Tries: []Try{{Value: 8, Asked: 3}, {Value: 9, Asked: 3}}}, []string{"the peak was the same with all values: does the program read N?"}},
		"several do not fit":     {Answer{Largest: &three, Sure: true, Exceptions: []int{1, 2}}, []string{"1, 2 do not fit though a larger one does: the memory does not grow with value, so that still larger ones may fit too"}},
		"always with less":       {Answer{Largest: &three, Sure: true, Tries: []Try{{Value: 3, Fits: true, Failed: 1}}}, []string{"with 3 the program went on after 1 failed request with less: on a GPU the edge may be beside it"}},
	} {
		if got := c.a.lines()[1:]; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	var all strings.Builder
	TellAll(&all, []Answer{{GPU: "t4", Memory: 15 * spec.GiB, Sure: true, High: 9, Doubts: []string{"not told"}}, {GPU: "h200", Memory: 140 * spec.GiB, High: 9, Largest: &three, Sure: true, Tries: tries, Doubts: []string{"a doubt"}}})
	const table = `GPU   memory      largest value  peak reserved  
t4    15.00 GiB   none                          
h200  140.00 GiB  3              60.00 MiB      with 14 there was enough memory, but in pieces: gaugeblock run says whether other --settings help; with 3 the program went on after 2 failed requests with less: on a GPU the edge may be beside it; if it makes its batches smaller then: the largest value tried without a failure is 1
a doubt
`
	if got := all.String(); got != table {
		t.Errorf("it says\n%s\nand not\n%s", got, table)
	}
}

// TestVariables: what is searched, and what is not of the form.
func TestVariables(t *testing.T) {
	for text, want := range map[string]Variable{
		"BATCH=1..512": {"BATCH", 1, 512}, "1..512": {"", 1, 512}, "0..0": {"", 0, 0}, "A=3..3": {"A", 3, 3},
	} {
		if v, err := ParseVariable(text); err != nil || v != want {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "BATCH", "=1..2", "BATCH=", "BATCH=1", "BATCH=1..", "BATCH=..2", "2..1", "-1..2", "a..2", "1..b", "1...2"} {
		if v, err := ParseVariable(text); err == nil || v != (Variable{}) || err.Error() != `"`+text+`" is not of the form BATCH=1..512` {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
	command := []string{"train", "--n={}", "{}{}"}
	if got, err := (Variable{Low: 2, High: 5}).Command(command, 7); err != nil || strings.Join(got, " ") != "train --n=7 77" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (Variable{Name: "N"}).Command(command[:1], 7); err != nil || strings.Join(got, " ") != "train" {
		t.Errorf("%q, %v", got, err)
	}
	for _, word := range []string{"train", "{", "}{"} {
		_, err := (Variable{Low: 2, High: 5}).Command([]string{word}, 7)
		if err == nil || err.Error() != "the value goes nowhere: give --var NAME=2..5 for an environment variable, or write {} in the command" {
			t.Errorf("%q: %v", word, err)
		}
	}
}

// TestTail: the last twenty lines of the last 16 KiB that a program printed.
func TestTail(t *testing.T) {
	line := strings.Repeat("x", 1000)
	for name, c := range map[string]struct{ printed, want string }{
		"nothing": {"", ""}, "a line feed": {"\n", ""}, "a line": {"a\n", ". It printed:\na"}, "two": {"a\nb", ". It printed:\na\nb"},
		"many": {strings.Repeat("0\n", 5) + strings.Repeat("1\n", 20), ". It printed:\n" + strings.TrimRight(strings.Repeat("1\n", 20), "\n")},
		"long": {strings.Repeat(line+"\n", 20), ". It printed:\n" + strings.Repeat("x", mostOfTail-16*1001-1) + strings.Repeat("\n"+line, 16)},
	} {
		var all tail
		for _, piece := range strings.SplitAfter(c.printed, "\n") {
			if n, err := all.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		if got := all.String(); got != c.want {
			t.Errorf("%s: %.80q, %d bytes, want %d", name, got, len(got), len(c.want))
		}
	}
}

// TestNoRun: what keeps the first run from beginning, or from telling anything, is an error without an answer.
func TestNoRun(t *testing.T) {
	o := options(t, "BATCH=1..9", "9999999999")
	for name, c := range map[string]struct {
		change func(*Options)
		says   string
	}{
		"no folder for it":          {func(*Options) { t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none")) }, "no such file"},
		"no such variable":          {func(o *Options) { o.Variable.Name = "A\x00B" }, "invalid argument"},
		"the value goes nowhere":    {func(o *Options) { o.Variable.Name = "" }, "the value goes nowhere"},
		"the program is not there":  {func(o *Options) { o.Run.Command = []string{filepath.Join(t.TempDir(), "none")} }, "no such file"},
		"an answer without devices": {func(o *Options) { o.Run.Command = []string{"true"} }, "with the value 1 on h200: the program has allocated no memory of a GPU"},
	} {
		t.Run(name, func(t *testing.T) {
			own := o
			own.Tried = func(gpus.GPU, Try) { t.Error("it was tried") }
			was := os.Getenv("TMPDIR")
			c.change(&own)
			answers, err := Fit(own)
			os.Setenv("TMPDIR", was)
			if err == nil || !strings.Contains(err.Error(), c.says) || len(answers) > 0 {
				t.Errorf("%+v, %v", answers, err)
			}
		})
	}
}

// TestAnswer: the peaks are those of the worst device, the doubts those of the largest value that ran.
func TestAnswer(t *testing.T) {
	o := options(t, "BATCH=1..9", "1500000000") // 4 samples
	o.Run.Memory = 5 * spec.GiB
	answers, err := Fit(o)
	if err != nil || len(answers) != 1 {
		t.Fatal(answers, err)
	}
	a := answers[0]
	if a.Memory != 5*spec.GiB || a.GPU != "h200" || a.Name != "BATCH" || a.Low != 1 || a.High != 9 {
		t.Errorf("%+v", a)
	}
	for _, tried := range a.Tries {
		peak := uint64(1073741824 + tried.Value*104857600)
		if tried.PeakReserved != peak || tried.PeakAllocated != peak || tried.Fits != (tried.Value <= 4) || (tried.At == "train.py:7") == tried.Fits {
			t.Errorf("%+v", tried)
		}
	}
	s := search{low: 1, high: 3, tried: map[int]Try{3: {Value: 3}}}
	for value, why := range []string{"", "the first", "the second"} {
		s.tried[value] = Try{Value: value, ran: &run.Result{Processes: []run.Answer{{Torch: "2.11.0", NoValues: why, Devices: []run.Device{{PeakReserved: 1}}}}}}
	}
	if a := s.answer(); len(a.Doubts) != 1 || a.Doubts[0] != "the second" {
		t.Errorf("%+v", a)
	}
}
