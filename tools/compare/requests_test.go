package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/conformance"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// told is an allocator that asks the driver for each request, and notes what it is asked.
type told struct {
	spec.Allocator
	driver spec.Driver
	calls  []string
	fails  error // of each malloc of stream 7
}

func (a *told) Malloc(r spec.Request) (spec.Ptr, error) {
	a.calls = append(a.calls, fmt.Sprintf("malloc %d on %v", r.Bytes/spec.MiB, uint64(r.Stream)))
	if r.Stream == 7 && a.fails != nil {
		return 0, a.fails
	}
	if _, err := a.driver.CaptureStatus(r.Device, r.Stream); err != nil {
		return 0, err // the device has no such stream
	}
	at, err := a.driver.Malloc(r.Device, r.Bytes)
	if err != nil {
		return 0, &spec.OutOfMemoryError{Requested: r.Bytes}
	}
	return at, nil
}

func (a *told) Free(p spec.Ptr) error {
	a.calls = append(a.calls, "free")
	return a.driver.Free(0, p)
}

func (a *told) EmptyCache() error {
	a.calls = append(a.calls, "empty")
	return nil
}

func (a *told) new(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	a.driver = driver
	return a, nil
}

// late is a small program that had 10 MiB when its history began.
func late() *history.Workload {
	block := func(state spec.BlockState, mebibytes uint64) spec.Block {
		return spec.Block{State: state, Size: mebibytes * spec.MiB, RequestedSize: mebibytes * spec.MiB}
	}
	return &history.Workload{
		InitialSegments: []spec.Segment{
			{Stream: 7, Blocks: []spec.Block{block(spec.Inactive, 2), block(spec.ActiveAllocated, 4)}},
			{Blocks: []spec.Block{block(spec.ActivePendingFree, 6)}},
		},
		Requests: []history.Request{
			{Kind: history.Malloc, ID: 2, Bytes: 20 * spec.MiB}, {Kind: history.EmptyCache, Doubtful: true}, {Kind: history.Free, ID: 0}, {Kind: history.FailedMalloc, ID: 3, Bytes: 30 * spec.MiB},
			{Kind: history.EmptyCache}, {Kind: history.Free, ID: 2}, {Kind: history.Malloc, ID: 4, Bytes: 8 * spec.MiB, Stream: 7},
		},
		Allocations: 5, Mallocs: 3, Streams: []spec.Stream{0, 7},
	}
}

// TestRequests: what a program had at its start is allocated first, each request is made, and what the device holds
// after each is measured.
func TestRequests(t *testing.T) {
	calls := []string{"malloc 4 on 7", "malloc 6 on 0", "malloc 20 on 0", "free", "malloc 30 on 0", "free", "empty", "free", "malloc 8 on 7"}
	a := &told{}
	r, err := requests(late(), a.new, "told", 0, false)
	if err != nil || !slices.Equal(a.calls, calls) {
		t.Errorf("%v, %q", err, a.calls)
	}
	over := []uint64{30, 30, 26, 56, 26, 6, 14}
	for i := range over {
		over[i] *= spec.MiB
	}
	if r.Allocator != "told" || r.Most != 56*spec.MiB || r.Mean != 188*spec.MiB/7 || !slices.Equal(r.OverTime, over) || r.DriverCalls != 8 || r.Failed != 0 || r.Error != "" {
		t.Errorf("%+v", r)
	}
	a = &told{}
	r, err = requests(late(), a.new, "told", 50*spec.MiB, false)
	want := Failure{Number: 2, Requested: 30 * spec.MiB, Held: 26 * spec.MiB}
	if err != nil || r.Failed != 1 || r.OutOfMemory == nil || *r.OutOfMemory != want || len(r.OverTime) != 7 || slices.Contains(a.calls[5:6], "free") {
		t.Errorf("under 50 MiB: %v, %+v, %+v, %q", err, r, r.OutOfMemory, a.calls)
	}
	twice := late()
	twice.Requests[6].Bytes = 60 * spec.MiB
	if r, err = requests(twice, a.new, "told", 50*spec.MiB, false); err != nil || r.Failed != 2 || *r.OutOfMemory != want {
		t.Errorf("two failures: %v, %+v, %+v", err, r, r.OutOfMemory)
	}
	a = &told{}
	if r, err = requests(late(), a.new, "told", 50*spec.MiB, true); err != nil || r.Failed != 1 || len(r.OverTime) != 4 {
		t.Errorf("up to the first failure: %v, %+v", err, r)
	}
}

// TestRequestsEnd: an allocator that cannot begin is an error of the comparison, and one that fails later has a row.
func TestRequestsEnd(t *testing.T) {
	broken := errors.New("broken")
	if _, err := requests(late(), func(spec.Driver, *trace.Header) (spec.Allocator, error) { return nil, broken }, "", 0, false); !errors.Is(err, broken) {
		t.Errorf("it cannot be made: %v", err)
	}
	a := &told{fails: broken}
	if _, err := requests(late(), a.new, "", 0, false); !errors.Is(err, broken) {
		t.Errorf("it cannot have what the program had: %v", err)
	}
	w := late()
	w.InitialSegments[0].Stream = 0
	if r, err := requests(w, a.new, "", 0, false); err != nil || r.Error != "request 7: broken" || r.Most != 56*spec.MiB {
		t.Errorf("it fails later: %v, %+v", err, r)
	}
	w.Requests[3].Stream = 7
	if r, err := requests(w, a.new, "", 0, false); err != nil || r.Error != "request 4: broken" || r.Most != 30*spec.MiB {
		t.Errorf("it fails where the recorded program did: %v, %+v", err, r)
	}
	w.Streams = []spec.Stream{0, 7, 7}
	if _, err := requests(w, a.new, "", 0, false); err == nil || !strings.Contains(err.Error(), "there is a stream 0x7 already") {
		t.Errorf("a stream is there twice: %v", err)
	}
	if _, err := Compare(w, parse(t, "pytorch"), Options{}, nil); err == nil || !strings.HasPrefix(err.Error(), "pytorch: ") || !strings.HasSuffix(err.Error(), "the recorded start has segments that cannot be allocated") {
		t.Errorf("segments of a start of pytorch have one address: %v", err)
	}
	w.Streams = late().Streams
	gone := func(spec.Driver, *trace.Header) (spec.Allocator, error) { panic(&conformance.Gone{Reason: "it went"}) }
	if r, err := requests(w, gone, "", 0, false); err != nil || !strings.Contains(r.Error, "it went") {
		t.Errorf("its process has ended: %v, %+v", err, r)
	}
	func() {
		defer func() {
			if recover() != broken {
				t.Error("a mistake of an allocator in this process is not told")
			}
		}()
		_, _ = requests(w, func(spec.Driver, *trace.Header) (spec.Allocator, error) { panic(broken) }, "", 0, false)
	}()
	w.Requests[0].Bytes = unlimited/2 - 36*spec.MiB - 1
	if c, err := Compare(w, nil, Options{}, nil); err != nil || c.Requested != unlimited/2-1 {
		t.Errorf("as much as may be: %v, %+v", err, c)
	}
	w.Requests[0].Bytes = unlimited / 2
	const words = "the program requests 512.04 GiB at one time, and a fake GPU has 1024.00 GiB"
	if _, err := Compare(w, nil, Options{}, nil); err == nil || err.Error() != words {
		t.Errorf("more than there is: %v", err)
	}
}

// TestSmallestLimit: it is a multiple of 2 MiB, under which nothing fails, and with 2 MiB less something does.
func TestSmallestLimit(t *testing.T) {
	a := &told{}
	limit, err := smallestLimit(late(), a.new, "", 100*spec.MiB)
	if err != nil || limit == nil || *limit != 56*spec.MiB {
		t.Errorf("%v, %v", limit, err)
	}
	for _, most := range []uint64{40 * spec.MiB, 54 * spec.MiB} {
		if limit, err := smallestLimit(late(), a.new, "", most); err != nil || limit != nil {
			t.Errorf("it fails with all that it may have: %v, %v", limit, err)
		}
	}
}

// TestMeasure: the smallest limit is looked for where it is asked for and the requests come to their end, up to what
// the allocator holds without a limit.
func TestMeasure(t *testing.T) {
	const served = `{"allocator":"told","held_at_most":58720256,"held_on_average":28161755,"held_over_time":[31457280,31457280,27262976,58720256,27262976,6291456,14680064],` +
		`"driver_calls":8,"retries":null,"failed_requests":0,"out_of_memory":null,"smallest_limit":`
	const failed = `{"allocator":"told","held_at_most":31457280,"held_on_average":23667858,"held_over_time":[31457280,31457280,27262976,27262976,27262976,6291456,14680064],` +
		`"driver_calls":7,"retries":null,"failed_requests":1,"out_of_memory":{"request":2,"requested":31457280,"held":27262976},"smallest_limit":`
	const nothing = `{"allocator":"told","held_at_most":0,"held_on_average":0,"held_over_time":null,"driver_calls":0,"retries":null,"failed_requests":0,"out_of_memory":null,"smallest_limit":null}`
	broken, made := errors.New("broken"), 0
	a := &told{}
	failsFrom := func(n int) func(spec.Driver, *trace.Header) (spec.Allocator, error) {
		made = 0
		return func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
			if made++; made >= n {
				return nil, broken
			}
			return a.new(d, h)
		}
	}
	limited := Options{Limit: 50 * spec.MiB, SmallestLimit: true}
	for _, c := range []struct {
		o     Options
		fails int // the allocator that cannot be made
		want  string
		err   error
	}{
		{Options{}, 2, served + "null}", nil},
		{Options{SmallestLimit: true}, 99, served + "58720256}", nil},
		{limited, 99, failed + "58720256}", nil},
		{Options{Limit: 50 * spec.MiB}, 2, failed + "null}", nil},
		{limited, 1, nothing, broken},
		{limited, 2, failed + "null}", broken},
		{limited, 3, failed + "null}", broken},
	} {
		r, err := c.o.measure(late(), failsFrom(c.fails), "told")
		got, _ := json.Marshal(r)
		if err != c.err || string(got) != c.want {
			t.Errorf("%+v, the %d. cannot be made: %v, %s", c.o, c.fails, err, got)
		}
	}
	late := late()
	late.InitialSegments[0].Stream = 0
	if r, err := limited.measure(late, (&told{fails: broken}).new, "told"); err != nil || r.Error != "request 7: broken" || r.SmallestLimit != nil {
		t.Errorf("it ends early: %v, %+v", err, r)
	}
}

// TestProgress: who waits hears of each allocator, and what needs no library builds none.
func TestProgress(t *testing.T) {
	candidates := parse(t, "pytorch", "pytorch,expandable_segments:True")
	dir := t.TempDir()
	if err := Build(append(candidates, parse(t, "driver:one")...), filepath.Join(dir, "none")); err != nil {
		t.Error(err)
	}
	var heard []int
	w := &history.Workload{Requests: []history.Request{{Kind: history.Malloc, Bytes: spec.MiB}}, Allocations: 1, Mallocs: 1, Streams: []spec.Stream{0}}
	c, err := Compare(w, candidates, Options{Limit: 50 * spec.MiB}, func(done int) { heard = append(heard, done) })
	if err != nil || !slices.Equal(heard, []int{1, 2}) || len(c.Results) != 2 || c.Limit != 50*spec.MiB || c.Requests != 1 || c.Results[1].Allocator != "pytorch,expandable_segments:True" {
		t.Errorf("%v, %v, %+v", err, heard, c)
	}
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a library was built")
	}
}

// TestNotes: what the record has and the rows have not is said.
func TestNotes(t *testing.T) {
	if n := len(notes(&history.Workload{})); n != 0 {
		t.Errorf("%d notes of nothing", n)
	}
	w := late()
	w.PrivatePools = []spec.PoolID{{}}
	for frees, waited := range map[int]string{1: "1 free waited", 12: "12 frees waited"} {
		w.Unrecorded.PendingFrees = frees
		said := notes(w)
		for i, words := range []string{"has private pools", waited, "begins late"} {
			if len(said) != 3 || !strings.Contains(said[i], words) {
				t.Errorf("not %q: %q", words, said)
			}
		}
	}
}

// TestText: the table is as wide as the terminal allows. Columns go first, then names are broken.
func TestText(t *testing.T) {
	name := strings.Repeat("long", 16)
	limit := uint64(5*spec.MiB + 1)
	retries := int64(3)
	c := &Comparison{Requests: 7, Requested: 10 * spec.MiB, Limit: 20 * spec.MiB, Notes: []string{strings.Repeat("word ", 40)}, Results: []Result{
		{Allocator: "a", Most: 15 * spec.MiB, Mean: 5 * spec.MiB, DriverCalls: 11, Retries: &retries, SmallestLimit: &limit, OutOfMemory: &Failure{Number: 4}},
		{Allocator: name, Error: "it ended"},
	}}
	whole := c.Text(0)
	for _, words := range []string{
		"7 requests for memory, at most 10.00 MiB at one time, on a device of 20.00 MiB.\n\n",
		"allocator", "held at most", "of requested", "on average", "driver calls", "retries", "out of memory", "smallest limit", "1.50", "request 4", "5.01 MiB", "\n" + name + " ended early: it ended\n",
	} {
		if !strings.Contains(whole, words) {
			t.Errorf("not %q:\n%s", words, whole)
		}
	}
	if strings.Contains(whole, "a request takes") || whole != c.String() || strings.Contains(whole, " \n") {
		t.Errorf("%s", whole)
	}
	columns := []string{"on average", "driver calls", "retries", "of requested"} // in the order in which they go
	for width, hidden := range map[int]int{200: 0, 160: 0, 150: 1, 140: 2, 130: 3, 120: 4, 70: 4} {
		table := c.table(width)
		for i, column := range columns {
			if strings.Contains(table, column) == (i < hidden) {
				t.Errorf("%d columns: %q is hidden: %v", width, column, i >= hidden)
			}
		}
		if n := text.LongestLineLen(table); n > width || strings.Contains(table, name) != (width > 100) {
			t.Errorf("%d columns: %d wide, the name whole: %v", width, n, strings.Contains(table, name))
		}
	}
	if table := c.table(20); !strings.Contains(table, "\n"+name[:12]+" ") || strings.Contains(table, name[:13]) {
		t.Errorf("names are not 12 wide:\n%s", table)
	}
	c.Results[0].SmallestLimit, c.Limit, c.Requested = nil, 0, 0
	if said := c.Text(60); strings.Contains(said, "smallest limit") || !strings.Contains(said, "without a limit") {
		t.Errorf("%s", said)
	}
	for requested, of := range map[uint64]any{0: "-", 1: "3.00"} {
		if row := (&Result{Most: 3}).row(requested); row[2] != of || row[5] != "-" || row[6] != "no" {
			t.Errorf("of %d bytes: %v", requested, row)
		}
	}
	for width, want := range map[int]int{0: 100, 30: 30, 100: 100, 101: 100, 200: 100} {
		if got := noteColumns(width); got != want {
			t.Errorf("notes of a terminal of %d columns have %d", width, got)
		}
	}
}
