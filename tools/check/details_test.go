package check

import (
	"bufio"
	"errors"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/replay"
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
)

// TestPassedOnIsTakenOnce: what is known of a range is taken with it, and stays for what is beside
// it.
func TestPassedOnIsTakenOnce(t *testing.T) {
	var known happensbefore.Clock
	known.Raise(happensbefore.Epoch{Lane: 1, Position: 1})
	r := func(from, to spec.Ptr) spec.Range { return spec.Range{Ptr: from, Bytes: uint64(to - from)} }
	var p passedOn
	taken := func(from, to spec.Ptr) (n int) {
		p.take(r(from, to), func(c happensbefore.Clock) {
			n++
			if c != known {
				t.Errorf("%v is known of %v", c, r(from, to))
			}
		})
		return n
	}
	if n := taken(0, 0x1000); n != 0 {
		t.Errorf("%d parts of nothing", n)
	}
	p.put(r(0x100, 0x400), known)
	for _, test := range []struct {
		from, to spec.Ptr
		parts    int
	}{{0, 0x100, 0}, {0x400, 0x500, 0}, {0x200, 0x300, 1}, {0x200, 0x300, 0}, {0, 0x180, 1}, {0x380, 0x500, 1}, {0x100, 0x180, 0}, {0, 0x1000, 2}, {0, 0x1000, 0}} {
		if n := taken(test.from, test.to); n != test.parts {
			t.Errorf("%v to %v: %d parts, not %d", test.from, test.to, n, test.parts)
		}
	}
}

// TestComparedAnswers: the first difference is told, of the driver calls before that of the
// failure, and that before the address.
func TestComparedAnswers(t *testing.T) {
	at, other := spec.Ptr(0x1000), spec.Ptr(0x2000)
	segment := func(p spec.Ptr) spec.TraceEntry {
		return spec.TraceEntry{Action: spec.ActionSegmentAlloc, Addr: p, Size: 2 * spec.MiB}
	}
	alloc := spec.TraceEntry{Action: spec.ActionAlloc, Addr: at, Size: 512}
	for _, test := range []struct {
		what     string
		expected trace.Expectation
		did      replay.Performed
		log, ref string
	}{
		{"the same", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{segment(at), alloc}}, replay.Performed{Ptr: at, Entries: []spec.TraceEntry{segment(at)}}, "", ""},
		{"another segment", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{segment(at)}}, replay.Performed{Ptr: other, Entries: []spec.TraceEntry{segment(other)}},
			"the driver is asked for 2097152 bytes (0x1000)", "the driver is asked for 2097152 bytes (0x2000)"},
		{"no segment", trace.Expectation{Addr: &at, Entries: []spec.TraceEntry{alloc}}, replay.Performed{Ptr: at, Entries: []spec.TraceEntry{alloc, segment(at)}},
			"the driver is asked for no more", "the driver is asked for 2097152 bytes (0x1000)"},
		{"calls are not recorded", trace.Expectation{Addr: &at}, replay.Performed{Ptr: at, Entries: []spec.TraceEntry{segment(at)}}, "", ""},
		{"it fails, and has no address", trace.Expectation{Addr: &at}, replay.Performed{Err: &spec.OutOfMemoryError{}}, "it succeeds", "it fails (oom)"},
		{"it should have failed", trace.Expectation{Error: trace.ErrorOOM}, replay.Performed{Ptr: at}, "it fails (oom)", "it succeeds"},
		{"another address", trace.Expectation{Addr: &at}, replay.Performed{Ptr: other}, "it is at 0x1000", "at 0x2000"},
	} {
		log, ref, same := compareAnswers(&trace.Op{Expect: test.expected}, &test.did)
		if log != test.log || ref != test.ref || same != (test.log == "") {
			t.Errorf("%s: %q, %q, the same: %v", test.what, log, ref, same)
		}
	}
}

// TestReturnedMemory: who is at fault if memory goes back to the driver that work may still use.
func TestReturnedMemory(t *testing.T) {
	const read = "1,3,read,0x1000000,0,"
	for _, test := range []struct{ what, lines, thread, want string }{
		{"nobody told the allocator", read + "0x20\n", "1", "the program: nothing told the allocator of stream 0x20 before the free in line 5"},
		{"the stream was recorded", "1,3,record stream,0x1000000,0,0x20\n" + read + "0x20\n", "1", "the allocator: it has not waited for stream 0x20"},
		{"the stream of the allocation", read + "0x10\n", "1", "the allocator: it has not waited for stream 0x10"},
		{"the thread of the free had waited, another one gives the memory back", read + "0x20\n1,4,synchronize,0,0,0x20\n", "2", "the allocator: it has not waited for stream 0x20"},
		{"so it had, and the stream of the allocation is destroyed", read + "0x20\n1,4,synchronize,0,0,0x20\n1,4,destroy stream,0,0,0x10\n", "2", "the allocator: it has not waited for stream 0x20"},
	} {
		log := csvHeader + "1,1,driver allocate host,0x1000000,4096,0\n1,2,allocate,0x1000000,512,0x10\n" + test.lines +
			"1,5,free,0x1000000,512,0x10\n" + test.thread + ",6,driver free host,0x1000000,4096,0\n" + test.thread + ",7,empty cache,0,0,0\n"
		result, err := Reader(strings.NewReader(log), "log", Options{})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		var details []string
		for _, v := range result.Violations {
			for _, d := range v.Details {
				details = append(details, d.Text)
			}
		}
		if !slices.Contains(details, test.want) {
			t.Errorf("%s: %q", test.what, details)
		}
	}
}

// TestEmptyTable: the error is one of the first line.
func TestEmptyTable(t *testing.T) {
	_, err := newCSV(bufio.NewReader(strings.NewReader("")), "log")
	var wrong *trace.Error
	if !errors.As(err, &wrong) || wrong.Line != 1 || !strings.Contains(wrong.Reason, "the file is empty") {
		t.Errorf("%v", err)
	}
}

// TestNeedlessCalls: the driver is asked for memory while enough is free for the stream.
func TestNeedlessCalls(t *testing.T) {
	const begin = csvHeader + "1,1,driver allocate,0x1000000,2097152,0x10\n1,2,allocate,0x1000000,1048576,0x10\n"
	for _, test := range []struct {
		what, log string
		needless  bool
	}{
		{"free memory of the stream", begin + "1,3,free,0x1000000,1048576,0x10\n1,4,driver allocate,0x2000000,2097152,0x10\n1,5,allocate,0x2000000,1048576,0x10\n", true},
		{"of another stream", begin + "1,3,free,0x1000000,1048576,0x10\n1,4,driver allocate,0x2000000,2097152,0x8\n1,5,allocate,0x2000000,1048576,0x8\n", false},
		{"allocated again", begin + "1,3,free,0x1000000,1048576,0x10\n1,4,allocate,0x1000000,1048576,0x10\n" +
			"1,5,driver allocate,0x2000000,2097152,0x10\n1,6,allocate,0x2000000,1048576,0x10\n", false},
		{"allocated", begin + "1,5,driver allocate,0x2000000,2097152,0x10\n1,6,allocate,0x2000000,1048576,0x10\n", false},
		{"too large to be split for it", begin + "1,3,free,0x1000000,1048576,0x10\n1,4,driver allocate,0x2000000,2097152,0x10\n1,5,allocate,0x2000000,1024,0x10\n", false},
	} {
		result, err := Reader(strings.NewReader(test.log), "log", Options{NeedlessCalls: true})
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		needless := slices.ContainsFunc(result.Violations, func(v Violation) bool { return v.Kind == NeedlessCall })
		if needless != test.needless {
			t.Errorf("%s: %+v", test.what, result.Violations)
		}
	}
}

// TestWorkInWords: who did a piece of work, and how the allocator could know of it.
func TestWorkInWords(t *testing.T) {
	c := &checker{given: &written{}, header: &trace.Header{}}
	if got, want := c.who(&fakegpu.Access{Kind: "kernel", Name: "k", Graph: true, Host: true}), `kernel "k" of a graph`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := c.who(&fakegpu.Access{Kind: "kernel", Host: true}), "kernel"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	a := &allocation{device: 1, on: &given{handle: 0x10}, freed: 9, uses: &uses{list: []use{{device: 1, on: &given{handle: 0x20}, line: 5}}}}
	for _, test := range []struct {
		work fakegpu.Access
		want string
	}{
		{fakegpu.Access{Device: 1, Stream: 0x20}, "was recorded for the memory in line 5"},
		{fakegpu.Access{Device: 0, Stream: 0x20}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x30}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x20, Host: true}, "what was freed in line 9 waits for"},
		{fakegpu.Access{Device: 1, Stream: 0x10}, "the memory was allocated for"},
		{fakegpu.Access{Device: 1, Stream: 0x10, Host: true}, "what was freed in line 9 waits for"},
	} {
		if got := c.knew(&test.work, a); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %q", test.work, got)
		}
	}
}

// TestNeedlessAfterCompletion: memory with stream uses is free when its free has completed.
func TestNeedlessAfterCompletion(t *testing.T) {
	for _, completed := range []bool{false, true} {
		first := `["free_completed",4194304,1048576,16],`
		if !completed {
			first = ""
		}
		log := `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}
{"op":"malloc","id":1,"size":1048576,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,1048576,16]]}
{"op":"record_stream","id":1,"stream":2,"events":[]}
{"op":"free","id":1,"events":[["free_requested",4194304,1048576,16]]}
{"op":"malloc","id":2,"size":1048576,"stream":1,"addr":8388608,"events":[` + first + `["segment_alloc",8388608,2097152,16],["alloc",8388608,1048576,16]]}
`
		result, err := Reader(strings.NewReader(log), "log", Options{NeedlessCalls: true})
		if err != nil {
			t.Fatal(err)
		}
		if needless := slices.ContainsFunc(result.Violations, func(v Violation) bool { return v.Kind == NeedlessCall }); needless != completed {
			t.Errorf("completed %v: %+v", completed, result.Violations)
		}
	}
}
