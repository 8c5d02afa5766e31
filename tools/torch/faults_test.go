package torch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// faultPrograms make every kind of driver call that an allocator makes. At "here" one call
// is made to fail, each one that comes behind it in turn. Then all is freed, and what is
// left of the driver, or wrong, is told.
var faultPrograms = []string{
	// Segments.
	"new limit=80MiB/here/malloc a 1MiB/malloc b 20MiB/free a/free b/malloc c 30MiB/malloc d 40MiB/free c/malloc e 20MiB/empty-cache",
	// Events: queried, waited for.
	"new patient/here/malloc a 2MiB/malloc b 2MiB/record a stream=1/record a stream=2/record b stream=1/" +
		"busy stream=1/kernel a stream=1/free a/free b/malloc c 2MiB/drain stream=1/malloc d 2MiB/" +
		"record d stream=2/busy stream=2/kernel d stream=2/free d/empty-cache/malloc e 2MiB/kernel e",
	// A pool, deferred frees.
	"new/here/malloc a 2MiB/malloc b 2MiB/record a stream=1/record b stream=1/pool-begin pool=1 stream=2/malloc p 20MiB stream=2/" +
		"free a/free b/pool-end pool=1/malloc c 1MiB/malloc d 1MiB/free p/pool-release pool=1/empty-cache",
	// A capture that shows when memory is safe.
	"new settings=graph_capture_record_stream_reuse:True/pool-create pool=1/capture-begin stream=1/pool-begin pool=1 stream=1/here/" +
		"malloc a 20MiB stream=1/kernel a stream=1/wait stream=2 on=1/kernel a stream=2/record a stream=2/free a/" +
		"malloc b 20MiB stream=1/kernel stream=1/wait stream=1 on=2/malloc c 20MiB stream=1/capture-end stream=1/pool-end pool=1",
	// Expandable segments.
	"new settings=expandable_segments:True limit=120MiB/here/malloc a 60MiB/malloc b 20MiB/free a/empty-cache/malloc c 60MiB/kernel c/" +
		"free c/malloc d 20MiB stream=1/empty-cache/malloc e 60MiB/kernel e",
	// A pool of an expandable segment is given up.
	"new settings=expandable_segments:True/pool-begin pool=1 stream=0/here/malloc a 40MiB/pool-end pool=1/free a/pool-release pool=1/empty-cache",
	// Peers.
	"new settings=expandable_segments:True devices=2/malloc a 40MiB/here/peer dev=1 of=0/peer dev=1 of=0/malloc b 40MiB/record b dev=1 stream=1/kernel b dev=1 stream=1/free a/empty-cache",
	// Memory of another process.
	"new/here/malloc a 20MiB/share a",
	"new/malloc a 20MiB/share a/process/here/open a/close a",
	"new settings=expandable_segments:True/here/malloc a 60MiB/share a/free a/empty-cache",
	"new settings=expandable_segments:True/malloc a 60MiB/share a/process settings=expandable_segments:True/here/open a/close a",
}

// harms are what a failure can lead to, worst first.
var harms = []string{"ends the process", "memory used twice", "memory not there", "memory lost", "addresses stay", "later calls fail", "wrong statistics", "no harm"}

// TestFaults: testdata/faults.txt has the table of what comes of each driver call that fails, with
// 2.11. With no release does the reference do harm.
func TestFaults(t *testing.T) {
	o := built(t)
	theirs := faultTable(t, func(programs []program) [][]string {
		all, err := apart(o, programs)
		if err != nil {
			t.Fatal(err)
		}
		return all
	})
	ours := faultTable(t, func(programs []program) (all [][]string) {
		for _, p := range programs {
			answers, err := p.perform(built(t).Release().Name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, answers)
		}
		return all
	})
	for call, harms := range ours {
		for harm := range harms {
			if harm != "no harm" && harm != "addresses stay" { // until the allocator is closed
				t.Errorf("%s fails, and the reference: %s", call, harm)
			}
		}
	}
	if o.Release().Name != "2.11" {
		return // whose table it is
	}
	page, err := os.ReadFile("testdata/faults.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range spec.DriverCalls() {
		if theirs[call] == nil && ours[call] == nil {
			continue // a program calls it, or nobody
		}
		row := fmt.Sprintf("| `%s` | %s | %s |", call, inTable(theirs[call]), inTable(ours[call]))
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("testdata/faults.txt lacks the line\n%s", row)
		}
	}
}

// faultTable counts for each call what came of its failures.
func faultTable(t *testing.T, perform func([]program) [][]string) map[string]map[string]int {
	t.Helper()
	var texts []string // of those that the release has the settings for
	var counting, failing []program
	for _, text := range faultPrograms {
		p := program{lines: strings.Split(strings.Replace(text, "/here/", "/mark/", 1)+"/since", "/")}
		if p.isFor(built(t).Release().Name) {
			texts, counting = append(texts, text), append(counting, p)
		}
	}
	var calls []string
	for i, answers := range perform(counting) {
		for _, made := range strings.Split(answers[len(answers)-1], "\n") {
			call, count, _ := strings.Cut(made, " ")
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			for nth := 1; nth <= n; nth++ {
				for _, kind := range faultKinds(call) {
					fail := fmt.Sprintf("/fail %s nth=%d error=%s/", call, nth, kind)
					failing = append(failing, program{lines: strings.Split(strings.Replace(texts[i], "/here/", fail, 1)+"/finish", "/")})
					calls = append(calls, call)
				}
			}
		}
	}
	table := map[string]map[string]int{}
	for i, answers := range perform(failing) {
		last := answers[len(answers)-1]
		if strings.HasPrefix(last, "the process ends") {
			last = harms[0]
		}
		if table[calls[i]] == nil {
			table[calls[i]] = map[string]int{}
		}
		table[calls[i]][last]++
		if testing.Verbose() {
			t.Logf("%s: %s", strings.Join(failing[i].lines[:len(answers)], "/"), answers[len(answers)-1])
		}
	}
	return table
}

// faultKinds are the errors that a call is made to fail with.
func faultKinds(call string) []string {
	kinds := []string{spec.FaultUnknown}
	for _, err := range fakegpu.PossibleFaults(call) {
		if errors.Is(err, spec.ErrDriverOutOfMemory) {
			kinds = append(kinds, spec.FaultOutOfMemory)
		}
	}
	return kinds
}

// inTable is a cell: the harms with how many failures led to them.
func inTable(counts map[string]int) string {
	if counts == nil {
		return "does not call it"
	}
	var cell []string
	for _, h := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Compare(slices.Index(harms, a), slices.Index(harms, b))
	}) {
		cell = append(cell, fmt.Sprintf("%s %d", h, counts[h]))
	}
	return strings.Join(cell, ", ")
}
