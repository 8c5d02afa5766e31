package history

import (
	"fmt"
	"strings"
	"testing"

	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestEveryKind: of each call of the allocator it is said what is made of it in a run
// under other settings.
func TestEveryKind(t *testing.T) {
	for _, kind := range trace.OpKinds() {
		k, listed := tracedKinds[kind]
		if asked := kind.Target() == trace.TargetAllocator; !listed && asked {
			t.Errorf("%s: snapshot/whatif does not say what is made of it", kind)
			continue
		} else if listed && !asked {
			t.Errorf("%s: snapshot/whatif has an entry that is never looked at", kind)
		}
		said := 0
		for _, way := range []bool{k.ask != nil || k.again, k.ignored != "", k.refused} {
			if way {
				said++
			}
		}
		if listed && said != 1 {
			t.Errorf("%s: snapshot/whatif says %d things of it, not one: ask or again, ignored or refused", kind, said)
		}
	}
}

// TestTracesAreRead: what is asked again in a run under other settings, and what is told of a trace that cannot be asked again.
func TestTracesAreRead(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}` + "\n"
	const first = `{"op":"malloc","id":1,"size":512,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,512,16]]}` + "\n"
	for _, test := range []struct{ what, trace, want string }{
		{"frees, one of which waits for another one", header + first +
			`{"op":"malloc","id":4,"size":700,"stream":1,"thread":2,"addr":4194816,"events":[["alloc",4194816,700,16]]}
{"op":"record_stream","id":1,"stream":2,"events":[]}
{"op":"free","id":1,"events":[["free_requested",4194304,512,16]]}
{"op":"reset_peak_stats"}
{"op":"free","id":4,"events":[["free_requested",4194816,700,16],["free_completed",4194816,700,16]]}
{"op":"malloc","id":5,"size":100,"addr":8388608,"events":[["free_completed",4194304,512,16],["segment_alloc",8388608,2097152,0],["alloc",8388608,100,0]]}
{"op":"free","id":5,"events":[["free_requested",8388608,100,0]]}
{"end":true}
`, `malloc 0 512 bytes stream 16 thread 0 entry 1
malloc 1 700 bytes stream 16 thread 2 entry 2
free 0 entry 3 until 4
free 1 entry 4
malloc 2 100 bytes stream 0 thread 0 entry 8
free 2 entry 9 until 6
3 requests, 3 allocations, streams [default 0x10], limit {none 4194304 0}, 2 pending, 0 failed, 0 settings changed, no end false`},
		{"a memory fraction, a request that fails, settings and caches", header + `{"op":"set_memory_fraction","fraction":0.5,"allowed":536870912}
{"op":"set_memory_fraction","fraction":0.25,"allowed":268435456}
{"op":"set_memory_fraction","fraction":0.5,"allowed":536870912}
{"op":"set_memory_fraction","fraction":1,"allowed":1073741824}
` + first + `{"op":"malloc","id":2,"size":999292928,"error":"oom","events":[["oom",0,999292928,0]]}
{"op":"configure","settings":"max_split_size_mb:24"}
{"op":"empty_cache","events":[]}
{"op":"pool_create","pool":[0,1]}
{"op":"empty_cache","pool":[0,1],"events":[]}
`, `malloc 0 512 bytes stream 16 thread 0 entry 1
failed 1 999292928 bytes stream 0 thread 0 entry 2
empty_cache 0 entry 3
pool_create [0,1] stream 0 entry 3
empty_cache [0,1] stream 0 entry 3
2 requests, 2 allocations, streams [default 0x10], limit {fraction 268435456 268435456}, 0 pending, 1 failed, 1 settings changed, no end true`},
		{"no events", header + `{"op":"malloc","id":1,"size":512}` + "\n{\"end\":true}\n", "line 2: the trace does not say what the allocator did"},
		{"an operation that cannot be repeated", header + first + `{"op":"resize","id":1,"size":256,"events":[]}` + "\n{\"end\":true}\n", "line 3: the operation resize cannot be asked again under other settings"},
		{"nothing asked", header + `{"op":"empty_cache","events":[]}` + "\n{\"end\":true}\n", "the trace asks for no memory of device 0"},
		{"a line that cannot be read", header + first + "{}\n", "log:3: a line with neither \"op\" nor \"end\""},
		{"other sizes", strings.Replace(header, `"total`, `"geometry":{"min_block":256,"small_size":1048576,"small_buffer":2097152,"min_large_alloc":10485760,"large_buffer":20971520,"round_large":2097152,"divisions_start":1048576,"max_request":1152921504606846976,"mib":1048576},"total`, 1) + first, "line 1: the sizes of pools and segments are not those of PyTorch"},
		{"a release that is not known", strings.Replace(header, `"total`, `"release":"1.0","total`, 1) + first, "PyTorch 1.0 is not known here: the releases 2.6 to " + upstream.Newest().Name + " are"},
		{"settings that cannot be read", strings.Replace(header, `"total`, `"settings":"max_split_size_mb:x","total`, 1) + first, `settings: max_split_size_mb: "x" at byte 18: must be a whole number`},
	} {
		reader, err := trace.NewReader(strings.NewReader(test.trace), "log")
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		got := ""
		if w, err := FromTrace(reader, 0, 0); err != nil {
			got = err.Error()
		} else {
			got = asked(w)
		}
		if got != test.want {
			t.Errorf("%s:\n%s\nnot\n%s", test.what, got, test.want)
		}
	}
}

// asked is what a workload of a trace asks for, a line for each request.
func asked(w *Workload) string {
	var b strings.Builder
	for _, q := range w.Requests {
		switch q.Kind {
		case Other:
			op := w.Operations[q.ID]
			fmt.Fprintf(&b, "%s [%d,%d] stream %d", op.Kind, op.Pool.Capture, op.Pool.User, op.On)
		default:
			fmt.Fprintf(&b, "%s %d", map[RequestKind]string{Malloc: "malloc", FailedMalloc: "failed", Free: "free", EmptyCache: "empty_cache"}[q.Kind], q.ID)
		}
		if q.Bytes > 0 {
			fmt.Fprintf(&b, " %d bytes stream %d thread %d", q.Bytes, q.Stream, q.Thread)
		}
		fmt.Fprintf(&b, " entry %d", q.Entry)
		if q.PendingFree {
			fmt.Fprintf(&b, " until %d", q.CompletedBefore)
		}
		b.WriteString("\n")
	}
	u := &w.Unrecorded
	fmt.Fprintf(&b, "%d requests, %d allocations, streams %v, limit {%s %d %d}, %d pending, %d failed, %d settings changed, no end %v",
		w.Mallocs, w.Allocations, w.Streams, w.Limit.Kind, w.Limit.Least, w.Limit.Most, u.PendingFrees, u.OOMs, u.SettingsChanges, w.NoEnd)
	return b.String()
}

// TestJoinedStreams: a request on another stream of a thread that captures may be one of the
// capture.
func TestJoinedStreams(t *testing.T) {
	const log = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0,16,32]}
{"op":"pool_begin","pool":[1,0],"by":"capture","stream":1}
{"op":"malloc","id":1,"size":512,"stream":1,"addr":4194304,"events":[["segment_alloc",4194304,2097152,16],["alloc",4194304,512,16]]}
{"op":"malloc","id":2,"size":512,"stream":2,"addr":8388608,"events":[["segment_alloc",8388608,2097152,32],["alloc",8388608,512,32]]}
{"op":"malloc","id":4,"size":512,"stream":1,"addr":4194816,"events":[["alloc",4194816,512,16]]}
{"op":"malloc","id":5,"size":512,"stream":2,"thread":3,"addr":8389632,"events":[["alloc",8389632,512,32]]}
{"op":"pool_end","pool":[1,0]}
{"op":"malloc","id":3,"size":512,"stream":2,"addr":8389120,"events":[["alloc",8389120,512,32]]}
{"end":true}
`
	reader, err := trace.NewReader(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	w, err := FromTrace(reader, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if w.Unrecorded.UnknownPools != 1 || w.Mallocs != 5 {
		t.Errorf("%d of %d requests may be of the capture", w.Unrecorded.UnknownPools, w.Mallocs)
	}
}
