package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of "go test -json" (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string // empty: it is of the package
	Output  string
}

// follower shows results as they come, and keeps count of skips.
type follower struct {
	out        io.Writer
	list       []*entry
	short      bool
	runs       map[string]*run // by package, under way
	results    int             // packages that are over
	failed     bool
	unexpected []string // skips that are not on the list
}

// run is a package while it is tested: what it and its tests have written, in order, and
// what became of the tests.
type run struct {
	written []event
	over    map[string]string // by test: pass, fail or skip
}

// follow shows the results, and reports whether something failed or was skipped that is
// not on the list.
func follow(r io.Reader, w io.Writer, list []*entry, short bool) (failed bool, err error) {
	f := follower{out: w, list: list, short: short, runs: map[string]*run{}}
	for lines := bufio.NewReader(r); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		f.line(line)
	}
	f.report()
	switch {
	case !errors.Is(err, io.EOF):
		return true, err
	case f.results == 0:
		return true, errors.New("no package was tested")
	}
	return f.failed || len(f.unexpected) > 0, nil
}

func (f *follower) line(line string) {
	var e event
	switch {
	case line == "":
	case json.Unmarshal([]byte(line), &e) != nil:
		fmt.Fprint(f.out, line) // of the go command itself
	case e.Action == "build-output":
		fmt.Fprint(f.out, e.Output)
	case e.Package != "":
		f.event(e)
	}
}

func (f *follower) event(e event) {
	r := f.runs[e.Package]
	if r == nil {
		r = &run{over: map[string]string{}}
		f.runs[e.Package] = r
	}
	switch e.Action {
	case "output":
		r.written = append(r.written, e)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	f.failed = f.failed || e.Action == "fail"
	if e.Test == "" {
		f.results++
		r.show(f.out, e.Action == "fail")
		delete(f.runs, e.Package)
		return
	}
	r.over[e.Test] = e.Action
	if e.Action != "skip" {
		return
	}
	if says := r.says(e.Test); !expects(f.list, f.short, e.Package, e.Test, says) {
		f.unexpected = append(f.unexpected, fmt.Sprintf("%s %s: %s", e.Package, e.Test, says))
	}
}

// report says how many skips are on the list, and which are not.
func (f *follower) report() {
	for _, e := range f.list {
		if e.matched > 0 {
			fmt.Fprintf(f.out, "skipped, as expected: %d in %s: %s\n", e.matched, strings.TrimPrefix(e.pkg, module), e.reason)
		}
	}
	for _, s := range f.unexpected {
		fmt.Fprintf(f.out, "FAIL: skipped, and not in tests/skips/skips.txt: %s\n", s)
	}
}

// show shows what "go test" would of a package that is over: its last line, and, if it
// failed, what it wrote itself and what tests wrote that failed or never came to an end.
func (r *run) show(w io.Writer, failed bool) {
	for _, e := range r.written {
		over := r.over[e.Test]
		switch {
		case strings.HasPrefix(e.Output, "=== ") || over == "pass" || over == "skip":
		case failed, strings.HasPrefix(e.Output, "ok  \t"), strings.HasPrefix(e.Output, "?   \t"):
			fmt.Fprint(w, e.Output)
		}
	}
}

// says is what a test has written, in one line.
func (r *run) says(test string) string {
	var text strings.Builder
	for _, e := range r.written {
		if e.Test == test && !strings.HasPrefix(e.Output, "=== ") {
			text.WriteString(e.Output)
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}
