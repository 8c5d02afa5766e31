package run

import "testing"

// TestFailed: the process and the request are those of the failure that ended the program, or else of the first one from
// which it went on.
func TestFailed(t *testing.T) {
	requests := func(asked ...uint64) (all []OutOfMemory) {
		for _, a := range asked {
			all = append(all, OutOfMemory{Asked: a})
		}
		return all
	}
	const uncaught = "torch.OutOfMemoryError"
	for name, c := range map[string]struct {
		processes []Answer
		pid       int
		asked     uint64
		ended     bool
	}{
		"nothing":                 {nil, 0, 0, false},
		"no request failed":       {[]Answer{{PID: 1}, {PID: 2, Uncaught: uncaught}}, 0, 0, false},
		"the program went on":     {[]Answer{{PID: 1}, {PID: 2, OOMs: requests(3, 4)}, {PID: 5, OOMs: requests(6)}}, 2, 4, false},
		"the second was ended":    {[]Answer{{PID: 1, OOMs: requests(2)}, {PID: 3, OOMs: requests(4, 5), Uncaught: uncaught}}, 3, 5, true},
		"by an older PyTorch":     {[]Answer{{PID: 1, OOMs: requests(2)}, {PID: 3, OOMs: requests(4), Uncaught: "torch.cuda.OutOfMemoryError"}}, 3, 4, true},
		"by something else":       {[]Answer{{PID: 1, OOMs: requests(2)}, {PID: 3, OOMs: requests(4), Uncaught: "builtins.ValueError"}}, 1, 2, false},
		"the first that was, was": {[]Answer{{PID: 1, OOMs: requests(2), Uncaught: uncaught}, {PID: 3, OOMs: requests(4), Uncaught: uncaught}}, 1, 2, true},
	} {
		r := &Result{Processes: c.processes}
		process, failed := r.Failed()
		pid, asked := 0, uint64(0)
		if process != nil {
			pid, asked = process.PID, failed.Asked
		}
		if _, ended := r.Failure(); pid != c.pid || asked != c.asked || ended != c.ended {
			t.Errorf("%s: process %d asked for %d, ended %v", name, pid, asked, ended)
		}
	}
}

// TestWhose: with several processes the peak's is named, by its rank if it has one.
func TestWhose(t *testing.T) {
	for _, c := range []struct {
		processes int
		rank      string
		want      string
	}{{0, "", ""}, {1, "0", ""}, {2, "", ", process 7 of 2"}, {3, "2", ", rank 2 of 3"}} {
		r := &Result{Processes: make([]Answer, c.processes)}
		if got := r.others(&Answer{PID: 7, Rank: c.rank}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestNamedLines: the line that decides most often is named, of equal ones the first by name.
func TestNamedLines(t *testing.T) {
	for _, c := range []struct {
		decisions map[string]int
		room      int
		want      string
	}{
		{map[string]int{"a.py:1 if": 1}, 40, "a.py:1 if"},
		{map[string]int{"b.py:1 if": 2, "a.py:1 if": 1}, 40, "b.py:1 if, and 1 more"},
		{map[string]int{"b.py:1 if": 1, "a.py:1 if": 1, "c.py:2 if": 1}, 40, "a.py:1 if, and 2 more"},
		{map[string]int{"long/folder/a.py:1 if": 9, "c.py:2 if": 1}, 25, "…/a.py:1 if, and 1 more"},
		{map[string]int{"long/folder/a.py:1 if": 9}, 18, "…/folder/a.py:1 if"},
		{map[string]int{"long/folder/a.py:1 if": 9}, 5, "…/a.py:1 if"},
	} {
		if got := named(c.decisions, c.room); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.decisions, c.room, got, c.want)
		}
	}
}

// TestUntried: a release that nobody has tried is said.
func TestUntried(t *testing.T) {
	for version, untried := range map[string]bool{
		"": false, "2": false, "2.11.0+cu130": false, "2.11": false, "2.99.0": true, "2.99.0+cu130": true, "1.13.1": true, "9": false,
	} {
		if got := (&Answer{Torch: version}).untried(); (got != "") != untried {
			t.Errorf("%q: %q", version, got)
		}
	}
}
