package history

import (
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestAfterFailures: whether a program goes on after its first failure, and which requests it can do without.
func TestAfterFailures(t *testing.T) {
	for _, c := range []struct {
		what     string
		kinds    []RequestKind // of request i, with the ID i, or that of the request before of a free
		oncemore bool
		optional bool // the first request
	}{
		{"nothing", nil, false, false},
		{"no failure", []RequestKind{Malloc, Free, Malloc}, false, true},
		{"the last request", []RequestKind{Malloc, FailedMalloc}, false, false},
		{"a free follows", []RequestKind{FailedMalloc, Free}, false, true},
		{"a request follows", []RequestKind{FailedMalloc, EmptyCache, Malloc}, true, false},
		{"a failure follows", []RequestKind{FailedMalloc, FailedMalloc}, true, false},
		{"a request is before", []RequestKind{Malloc, EmptyCache, FailedMalloc}, false, false},
		{"freed after an empty_cache", []RequestKind{Malloc, EmptyCache, Free}, false, false},
	} {
		w := &Workload{Allocations: len(c.kinds), Trace: make([]snapshot.TraceEntry, 1)}
		for i, k := range c.kinds {
			q := Request{Kind: k, ID: int32(i)}
			if k == Free {
				q.ID--
			}
			if k == FailedMalloc {
				w.Unrecorded.OOMs++
			}
			w.Requests = append(w.Requests, q)
		}
		if got := w.GoesOnAfterFailures(); got != c.oncemore {
			t.Errorf("%s: it goes on: %v", c.what, got)
		}
		if len(c.kinds) > 0 && w.Optional(0) != c.optional {
			t.Errorf("%s: the first request is optional: %v", c.what, w.Optional(0))
		}
	}
	w := &Workload{Requests: []Request{{}}, Trace: []snapshot.TraceEntry{{Context: &snapshot.Context{Frames: snapshot.Frames{{Name: "at::native::convolution(int)"}}}}}}
	if !w.Optional(0) {
		t.Error("a convolution's request is not optional")
	}
}

// TestSettingsOfReleases: settings that a later release knows are refused with its number, and others without.
func TestSettingsOfReleases(t *testing.T) {
	oldest := upstream.Releases()[0]
	for text, want := range map[string]string{
		"graph_capture_record_stream_reuse:True": "knows all keys",
		"max_split_size_mb:x":                    "!knows all keys",
		"nonsense:1":                             "!knows all keys",
	} {
		_, err := ParseSettings(text, oldest)
		part, absent := strings.CutPrefix(want, "!")
		if err == nil || strings.Contains(err.Error(), part) == absent || strings.Contains(err.Error(), "PyTorch "+oldest.Name+":") == absent {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFailureInTrace: a request that failed in a recorded trace is one that fails, and is counted.
func TestFailureInTrace(t *testing.T) {
	const log = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0]}
{"op":"malloc","id":1,"size":512,"addr":4194304,"events":[["segment_alloc",4194304,2097152,0],["alloc",4194304,512,0]]}
{"op":"malloc","id":2,"size":2147483648,"error":"oom","events":[["oom",1073741824,2147483648,0]]}
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
	if w.Unrecorded.OOMs != 1 || w.Mallocs != 2 || w.Requests[1].Kind != FailedMalloc || w.Requests[1].Bytes != 2147483648 {
		t.Errorf("%+v, %+v", w.Unrecorded, w.Requests)
	}
}
