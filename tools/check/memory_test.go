package check

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
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
