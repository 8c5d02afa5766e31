package check_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/check"
	"gaugeblock/tools/reference"
)

// The command's transcripts (testdata/check in the root) show each kind of violation in a
// log, and the same log without it. Here are logs that nobody wrote by hand.

// TestRecordedRuns: what PyTorch did on a real GPU is clean, and what the reference
// would have done.
func TestRecordedRuns(t *testing.T) {
	files, err := checkout.AllTraces()
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	for name, file := range files {
		result, err := check.File(file, check.Options{Live: true, Reference: reference.New})
		if err != nil {
			t.Fatal(err)
		}
		if result.Count() > 0 {
			t.Errorf("%s: %v", name, result)
		}
	}
}

// TestComparisonEnds: the reference is compared with as long as it can do what the log says, and
// the end of that is told once.
func TestComparisonEnds(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16]}` + "\n"
	const first = `{"op":"malloc","id":1,"size":512,"addr":4194304,"events":[["segment_alloc",4194304,2097152,0],["alloc",4194304,512,0]]}` + "\n"
	const other = `{"op":"malloc","id":2,"size":512,"addr":8388608,"events":[["segment_alloc",8388608,2097152,0],["alloc",8388608,512,0]]}` + "\n"
	const silent = `{"op":"malloc","id":1,"size":512,"addr":4194304}` + "\n" + `{"op":"malloc","id":2,"size":512,"addr":4259840}` + "\n" + `{"op":"malloc","id":3,"size":512,"addr":9994304}` + "\n"
	for _, test := range []struct {
		what, log  string
		note       string
		departures int
	}{
		{"another decision", first + other, "", 1},
		{"two of them", first + other + strings.NewReplacer(`"id":2`, `"id":3`, "8388608", "16777216").Replace(other), "", 1},
		{"no driver calls", silent, "nothing is compared with the reference, since the log has no driver calls", 0},
		{"work on what is not allocated", first + `{"op":"kernel","stream":0,"reads":[[7,0,0]]}` + "\n" + other, "compared with the reference as far as line 2", 0},
		{"a stream recorded for what is not allocated", first + `{"op":"record_stream","id":7,"stream":1}` + "\n" + other, "compared with the reference as far as line 2", 0},
		{"a free of what is not allocated", first + `{"op":"free","id":7,"events":[]}` + "\n" + other, "compared with the reference as far as line 2", 0},
	} {
		result, err := check.Reader(strings.NewReader(header+test.log+`{"end":true}`+"\n"), "log", check.Options{Live: true, Reference: reference.New})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		departures, notes := 0, 0
		for _, v := range result.Violations {
			if v.Kind == check.Departure {
				departures++
			}
		}
		for _, n := range result.Notes {
			if strings.Contains(n, "compared with the reference") {
				notes++
			}
		}
		if departures != test.departures || test.note != "" && !slices.Contains(result.Notes, test.note) || notes > 1 || notes > 0 && test.note == "" {
			t.Errorf("%s: %d departures, %q", test.what, departures, result.Notes)
		}
	}
}

// FuzzReader: whatever a log holds, it is checked, or refused with its name and a line.
func FuzzReader(f *testing.F) {
	f.Add("Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x7f0000000000,1024,0\n1,2,read,0x7f0000000000,0,0x10\n1,3,free,0x7f0000000000,1024,0\n")
	f.Add("Action,Pointer,Size,Stream\ndriver allocate,512,4096,0\nallocate,512,1,1\nfree completed,512,,\nempty cache,,,\ndriver free,512,4096,0\n")
	f.Add(`{"format":"allocator-trace","version":2,"total_memory":4194304,"streams":[0,16]}` + "\n" +
		`{"op":"malloc","id":1,"size":1024,"addr":2097152,"events":[["segment_map",2097152,2097152,0]]}` + "\n" +
		`{"op":"free","id":1,"events":[["segment_unmap",2097152,2097152,0]]}` + "\n" + `{"op":"free","id":1}` + "\n")
	f.Add(`{"format":"allocator-trace","version":2,"total_memory":34,"streams":[0]}` + "\n" +
		`{"op":"malloc","id":1,"size":4,"addr":2097152,"events":[["segment_map",2097152,20971522097152,0]]}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := check.Reader(strings.NewReader(text), "log", check.Options{Reference: reference.New})
		var bad *trace.Error
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.File != "log") {
			t.Errorf("the error is %v", err)
		}
	})
}
