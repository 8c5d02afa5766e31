package graphtree

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
)

// TestFaultsOfStories tells each story again with one call of the driver that fails, the first or the last of each that the
// story makes: what is said then, and what the device has not got back in the end, stays as it was. testdata/faults.txt
// has for each story and call a checksum of it, and how many things are left:
//
//	go test ./tests/graphtree -run TestFaultsOfStories -rewrite-answers
func TestFaultsOfStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/stories/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	var got strings.Builder
	for _, path := range paths {
		for number, calls := range tell(t, path, "", 0, 0).calls {
			for _, call := range slices.Sorted(maps.Keys(calls)) {
				for _, nth := range slices.Compact([]uint64{1, calls[call]}) {
					told := tell(t, path, call, nth, number)
					fmt.Fprintf(&got, "%s %d %s %d: %s, %d left\n", filepath.Base(path), number, call, nth, kept.Sum(told.text.String()+strings.Join(told.leaks, "\n")), len(told.leaks))
				}
			}
		}
	}
	kept.Compare(t, "testdata/faults.txt", got.String())
}

// toldWithFault is what came of the stories of a file.
type toldWithFault struct {
	text  strings.Builder // of the story with the fault
	leaks []string
	calls []map[string]uint64 // of the driver, by story
}

// ended is why a story with a fault cannot go on.
type ended struct{ error }

// tell tells the stories of a file. In one of them a call of the driver fails.
func tell(t *testing.T, path, call string, nth uint64, number int) *toldWithFault {
	told := &toldWithFault{}
	var s *story
	over := false
	end := func() {
		if s != nil {
			told.calls = append(told.calls, map[string]uint64{})
			for _, c := range s.gpu.Calls() {
				told.calls[len(told.calls)-1][c.Call] = c.Count
			}
			if s.faulty {
				fmt.Fprintln(&told.text, said(s.manager.Shutdown()))
				told.leaks = s.gpu.Leaks()
			}
		}
		over = false
	}
	stories := 0
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (same string) {
		same = d.Expected
		if d.Cmd == "new" {
			end()
			if s = newStory(t, d); call != "" && stories == number {
				made := uint64(0)
				for _, c := range s.gpu.Calls() {
					if c.Call == call {
						made = c.Count
					}
				}
				s.faulty = true
				if nth > made {
					s.must(s.gpu.FailCall(call, int(nth-made), fakegpu.UnknownError(call)))
				}
			}
			stories++
			return same
		}
		if s.t, s.d = t, d; over || call != "" && !s.faulty {
			return same
		}
		defer func() {
			if e, is := recover().(ended); is {
				over = true
				fmt.Fprintln(&told.text, d.Cmd, e.error)
			}
		}()
		if s.faulty && d.Cmd != "call" && slices.ContainsFunc(s.names(), func(name string) bool { return s.tensors[name] == nil }) && (d.Cmd == "drop" || d.Cmd == "read") {
			return same // what a call that failed would have returned
		}
		if answer := commands[d.Cmd](s); s.faulty {
			fmt.Fprintln(&told.text, d.Cmd, answer)
		}
		return same
	})
	end()
	return told
}
