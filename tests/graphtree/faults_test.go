package graphtree

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/kept"
)

// TestFaultsOfStories tells each story again, and each time another call of the device or the allocator fails, alone or
// with the next one. What is said then, which calls are made, and what the device has not got back in the end, stays as it
// was. testdata/faults.txt has for each story and call how often it was made, the first errors, how many things are left
// in all, and a checksum of all that is said:
//
//	go test ./tests/graphtree -run TestFaultsOfStories -rewrite-answers
func TestFaultsOfStories(t *testing.T) {
	paths, err := filepath.Glob("testdata/stories/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	var got strings.Builder
	for _, path := range paths {
		for number, lines := range storiesOf(t, path) {
			whole := tell(t, lines)
			fmt.Fprintf(&got, "%s %d: %d calls, all %s\n", filepath.Base(path), number, len(whole.steps.names), kept.Sum(whole.all()))
			if len(whole.leaks) != 1 { // the manager's stream, which the story made
				t.Errorf("%s %d: left: %v", filepath.Base(path), number, whole.leaks)
			}
			of := map[string]*strings.Builder{}
			left := map[string]int{}
			for i, name := range whole.steps.names {
				if of[name] == nil {
					of[name] = &strings.Builder{}
				}
				for _, told := range []*told{tell(t, lines, i+1), tell(t, lines, i+1, i+2)} {
					for _, failed := range told.steps.failed() {
						if !strings.Contains(told.text.String(), failed+" fails") {
							t.Errorf("%s %d: the fault of %s (call %d) is not told:\n%s", filepath.Base(path), number, failed, i+1, told.text.String())
						}
					}
					of[name].WriteString(told.all())
					left[name] += len(told.leaks)
				}
			}
			for _, name := range slices.Sorted(maps.Keys(of)) {
				fmt.Fprintf(&got, "	%s: %d left, all %s\n", name, left[name], kept.Sum(of[name].String()))
			}
		}
	}
	kept.Compare(t, "testdata/faults.txt", got.String())
}

// told is what came of a story.
type told struct {
	text  strings.Builder
	steps *steps
	leaks []string
}

func (w *told) all() string {
	return w.text.String() + w.steps.log.String() + strings.Join(w.leaks, "\n")
}

// ended is why a story with a fault cannot go on.
type ended struct{ error }

// storiesOf are the lines of each story of a file.
func storiesOf(t *testing.T, path string) (stories [][]datadriven.TestData) {
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (same string) {
		if d.Cmd == "new" {
			stories = append(stories, nil)
		}
		stories[len(stories)-1] = append(stories[len(stories)-1], *d)
		return d.Expected
	})
	return stories
}

// tell tells a story in which some calls fail.
func tell(t *testing.T, lines []datadriven.TestData, fails ...int) *told {
	w := &told{steps: &steps{fails: fails}}
	var s *story
	line := func(d *datadriven.TestData) (over bool) {
		defer func() {
			if e, is := recover().(ended); is {
				over = true
				fmt.Fprintln(&w.text, d.Cmd, e.error)
			}
		}()
		if d.Cmd == "new" {
			s = newStory(t, d, w.steps)
			return false
		}
		s.t, s.d = t, d
		if (d.Cmd == "drop" || d.Cmd == "read") && slices.ContainsFunc(s.names(), func(name string) bool { return s.tensors[name] == nil }) {
			return false // what a call that failed would have returned
		}
		fmt.Fprintln(&w.text, d.Cmd, commands[d.Cmd](s))
		return false
	}
	for i := range lines {
		if line(&lines[i]) {
			break
		}
	}
	if s != nil {
		fmt.Fprintln(&w.text, said(s.manager.Shutdown()))
		for _, name := range slices.Sorted(maps.Keys(s.tensors)) { // outputs outlive their tree
			if tensor := s.tensors[name]; tensor != nil {
				fmt.Fprintln(&w.text, name, said(tensor.Release()))
			}
		}
		fmt.Fprintln(&w.text, said(s.allocator.EmptyCache()))
		w.leaks = s.gpu.Leaks()
	}
	return w
}
