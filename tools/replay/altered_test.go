package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// recorded is a short trace that the reference replays exactly: two allocations
// in one segment, a request that passes the limit, a free that merges.
const recorded = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,100],"stat_columns":["allocation.all.current","allocated_bytes.all.current","num_ooms"]}
{"op":"malloc","id":0,"size":1000,"addr":4096,"events":[["segment_alloc",4096,2097152,0],["alloc",4096,1000,0]],"stats":[1,1024,0]}
{"op":"malloc","id":1,"size":3000,"addr":5120,"events":[["alloc",5120,3000,0]],"stats":[2,4096,0],"layout":[{"addr":4096,"size":2097152,"stream":0,"type":"small","pool":[0,0],"expandable":false,"allocated":4096,"active":4096,"requested":4000,"blocks":[[4096,1024,1000,"active_allocated"],[5120,3072,3000,"active_allocated"],[8192,2093056,0,"inactive"]]}]}
{"op":"set_memory_fraction","fraction":0.00390625,"allowed":4194304,"events":[],"stats":[2,4096,0]}
{"op":"malloc","id":2,"size":5000000,"stream":1,"error":"oom","message":"CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1024.00 MiB of which 7.00 MiB is free. 4.00 MiB allowed; Of the allocated memory 4.00 KiB is allocated by PyTorch, and 2.00 MiB is reserved by PyTorch but unallocated.","events":[["oom",7340032,5000192,100]],"stats":[2,4096,1]}
{"op":"free","id":0,"events":[["free_requested",4096,1000,0],["free_completed",4096,1000,0]],"stats":[1,3072,1]}
{"op":"kernel","stream":1}
{"end":true,"layout":[{"addr":4096,"size":2097152,"stream":0,"type":"small","pool":[0,0],"expandable":false,"allocated":3072,"active":3072,"requested":3000,"blocks":[[4096,1024,1000,"inactive"],[5120,3072,3000,"active_allocated"],[8192,2093056,0,"inactive"]]}],"stats":{"allocation.all.current":1,"allocation.all.peak":2,"allocated_bytes.all.freed":1024,"num_alloc_retries":1,"max_split_size":-1}}
`

func replayText(t *testing.T, trace string) replay.Result {
	t.Helper()
	result, err := replay.Reader(strings.NewReader(trace), "trace", replay.Options{New: reference.New})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestRecordedIsExact(t *testing.T) {
	want := replay.Result{File: "trace", Exact: true, Operations: 6, Compared: 5, Parts: replay.Parts{Addresses: true, Statistics: true, Layouts: true}}
	if diff := cmp.Diff(want, replayText(t, recorded)); diff != "" {
		t.Error(diff)
	}
}

// TestAlteredIsNoticed alters one recorded value at a time. The replay must stop
// at the operation that carries it, and name it.
func TestAlteredIsNoticed(t *testing.T) {
	for _, c := range []struct {
		what, old, new       string
		operation, line      int
		field, expected, got string
	}{
		{
			"an address", `"addr":5120,"events"`, `"addr":5632,"events"`,
			2, 3, "address", "0x1600", "0x1400",
		}, {
			"the address of a segment", `"addr":4096,"events":[["segment_alloc",4096,`, `"addr":4096,"events":[["segment_alloc",8192,`,
			1, 2, "address", "0x1000", "0x2000",
		}, {
			"the size in an event", `["alloc",5120,3000,0]`, `["alloc",5120,3001,0]`,
			2, 3, "events", "1. alloc 0x1400, 3001 bytes (2.93 KiB), stream default", "1. alloc 0x1400, 3000 bytes (2.93 KiB), stream default",
		}, {
			"the stream of an event", `["free_requested",4096,1000,0]`, `["free_requested",4096,1000,100]`,
			5, 6, "events", "1. free_requested 0x1000, 1000 bytes, stream 0x64", "1. free_requested 0x1000, 1000 bytes, stream default",
		}, {
			"an event that was not", `["alloc",5120,3000,0]`, `["alloc",5120,3000,0],["alloc",5120,3000,0]`,
			2, 3, "events", "2. alloc 0x1400, 3000 bytes (2.93 KiB), stream default", "no more than 1",
		}, {
			"an event left out", `,["free_completed",4096,1000,0]`, ``,
			5, 6, "events", "no more than 1", "2. free_completed 0x1000, 1000 bytes, stream default",
		}, {
			"the order of events", `[["free_requested",4096,1000,0],["free_completed",4096,1000,0]]`, `[["free_completed",4096,1000,0],["free_requested",4096,1000,0]]`,
			5, 6, "events", "1. free_completed 0x1000, 1000 bytes, stream default", "1. free_requested 0x1000, 1000 bytes, stream default",
		}, {
			"the rounded size of a failed request", `5000192`, `5000704`,
			4, 5, "events", "1. oom for 5000704 bytes (4.77 MiB), stream 0x64", "1. oom for 5000192 bytes (4.77 MiB), stream 0x64",
		}, {
			"a statistic", `"stats":[2,4096,1]`, `"stats":[2,4096,0]`,
			4, 5, "num_ooms", "0", "1",
		}, {
			"the last statistic but one", `"stats":[1,3072,1]`, `"stats":[1,3584,1]`,
			5, 6, "allocated_bytes.all.current", "3584", "3072",
		}, {
			"a statistic nobody knows", `"stat_columns":["allocation.all.current"`, `"stat_columns":["allocation.all.now"`,
			1, 2, "allocation.all.now", "1", "no such statistic",
		}, {
			"a failure that was not", `"addr":5120,`, `"error":"oom",`,
			2, 3, "error", "oom", "none",
		}, {
			"another failure", `"error":"oom","message"`, `"error":"driver","message"`,
			4, 5, "error", "driver", "oom (out of memory: tried to allocate 20.00 MiB on device 0, which has a total capacity of 1024.00 MiB of which 1022.00 MiB is free; 4.00 MiB allowed; 4.00 KiB is allocated, 2.00 MiB is reserved but unallocated)",
		}, {
			"a size in a message", `and 2.00 MiB is reserved`, `and 1.00 MiB is reserved`,
			4, 5, "message, reserved but unallocated", "1.00 MiB", "2.00 MiB",
		}, {
			"the size of a block", `[5120,3072,3000,"active_allocated"],[8192,2093056,0,"inactive"]]}]}`, `[5120,3584,3000,"active_allocated"],[8704,2092544,0,"inactive"]]}]}`,
			2, 3, "layout", "block 0x1400 of 3584 bytes (3.50 KiB), requested 3000, active_allocated", "block 0x1400 of 3072 bytes (3.00 KiB), requested 3000, active_allocated",
		}, {
			"the bytes of a segment", `"allocated":4096,"active":4096`, `"allocated":4096,"active":4608`,
			2, 3, "layout",
			"small segment 0x1000 of 2097152 bytes (2.00 MiB), stream default, allocated 4096, active 4608, requested 4000",
			"small segment 0x1000 of 2097152 bytes (2.00 MiB), stream default, allocated 4096, active 4096, requested 4000",
		}, {
			"the requested size of a free block", `[[4096,1024,1000,"inactive"]`, `[[4096,1024,999,"inactive"]`,
			7, 8, "layout", "block 0x1000 of 1024 bytes, requested 999, inactive", "block 0x1000 of 1024 bytes, requested 1000, inactive",
		}, {
			"a segment more at the end", `]}],"stats":{`, `]},{"addr":9999872,"size":512,"stream":0,"type":"large","pool":[1,0],"expandable":true,"allocated":0,"active":0,"requested":0,"blocks":[]}],"stats":{`,
			7, 8, "layout", "large expandable segment 0x989600 of 512 bytes, stream default, allocated 0, active 0, requested 0, pool (1, 0)", "nothing more",
		}, {
			"a final peak", `"allocation.all.peak":2`, `"allocation.all.peak":3`,
			7, 8, "allocation.all.peak", "3", "2",
		}, {
			"a final sum", `"allocated_bytes.all.freed":1024`, `"allocated_bytes.all.freed":0`,
			7, 8, "allocated_bytes.all.freed", "0", "1024",
		}, {
			"a final statistic nobody knows", `"max_split_size":-1`, `"min_split_size":-1`,
			7, 8, "min_split_size", "-1", "no such statistic",
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			if strings.Count(recorded, c.old) != 1 {
				t.Fatalf("%q is not once in the trace", c.old)
			}
			result := replayText(t, strings.Replace(recorded, c.old, c.new, 1))
			if result.Exact || result.FirstDifference == nil {
				t.Fatalf("not noticed: %v", &result)
			}
			got := *result.FirstDifference
			got.Op, got.LayoutDiff = "", ""
			want := replay.Difference{
				Operation: c.operation, Line: c.line, Field: c.field, Expected: c.expected, Got: c.got,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if result.Operations != 6 {
				t.Errorf("the trace has 6 operations, not %d", result.Operations)
			}
		})
	}
}

// TestAlteredWithinTolerance alters what may differ.
func TestAlteredWithinTolerance(t *testing.T) {
	for _, c := range []struct{ what, old, new string }{
		{"the free memory in an oom event", `["oom",7340032,`, `["oom",1,`},
		{"the free memory in a message", `of which 7.00 MiB is free`, `of which 512 bytes is free`},
		{"prose in a message", `is allocated by PyTorch, and`, `is allocated by PyTorch; Process 1 has 4.00 MiB memory in use, and`},
		{"an address that is not known", `"addr":5120,"events"`, `"events"`},
		{"a statistic that is not known", `,"stats":[2,4096,1]}`, `}`},
	} {
		t.Run(c.what, func(t *testing.T) {
			if strings.Count(recorded, c.old) != 1 {
				t.Fatalf("%q is not once in the trace", c.old)
			}
			if result := replayText(t, strings.Replace(recorded, c.old, c.new, 1)); !result.Exact {
				t.Error(&result)
			}
		})
	}
}

// TestStoryNobodyTakes: who does not take the story is told of, and what was replayed then is nothing.
func TestStoryNobodyTakes(t *testing.T) {
	result, err := replay.Reader(strings.NewReader(recorded), "trace", replay.Options{New: reference.New, Sentences: full{}})
	if !errors.Is(err, errFull) || result.Operations != 0 {
		t.Errorf("%v, %v", &result, err)
	}
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestCompareLayouts: the first thing that differs is told in words.
func TestCompareLayouts(t *testing.T) {
	layout := func(bytes uint64) []spec.Segment {
		return []spec.Segment{{Address: 4096, TotalSize: 1024, Blocks: []spec.Block{{Size: bytes, State: spec.Inactive}, {Size: 1024 - bytes, State: spec.ActiveAllocated}}}}
	}
	if what, _, _ := replay.CompareLayouts(layout(512), layout(512)); what != "" {
		t.Error(what)
	}
	what, expected, found := replay.CompareLayouts(layout(512), layout(256))
	if what != "layout" || !strings.Contains(expected, "512") || !strings.Contains(found, "256") {
		t.Errorf("%q, %q, %q", what, expected, found)
	}
}
