package history

import "testing"

// TestPeakRequested: a restore of a pool makes freed allocations live again, and frees
// others. A free of what is not live changes nothing.
func TestPeakRequested(t *testing.T) {
	malloc := func(id int32, bytes uint64) Request { return Request{Kind: Malloc, ID: id, Bytes: bytes} }
	free := func(id int32) Request { return Request{Kind: Free, ID: id} }
	restore := Request{Kind: Other, ID: 0}
	for _, c := range []struct {
		what     string
		requests []Request
		op       PoolOperation
		want     uint64
	}{
		{"freed twice", []Request{malloc(0, 5), free(0), free(0), malloc(1, 6)}, PoolOperation{}, 6},
		{"live again", []Request{malloc(0, 5), free(0), restore, malloc(1, 6)}, PoolOperation{Live: []int32{0}}, 11},
		{"live again, and freed", []Request{malloc(0, 5), free(0), restore, free(0), malloc(1, 6)}, PoolOperation{Live: []int32{0}}, 6},
		{"freed by it", []Request{malloc(0, 5), restore, malloc(1, 6)}, PoolOperation{Freed: []int32{0}}, 6},
	} {
		w := &Workload{Requests: c.requests, Allocations: 2, Operations: []PoolOperation{c.op}}
		if got := w.PeakRequested(); got != c.want {
			t.Errorf("%s: %d, not %d", c.what, got, c.want)
		}
	}
}

// TestPeakAsked: a request that failed counts, and is not there afterwards.
func TestPeakAsked(t *testing.T) {
	w := &Workload{Allocations: 3, Requests: []Request{{Kind: Malloc, Bytes: 5}, {Kind: FailedMalloc, ID: 1, Bytes: 7}, {Kind: Malloc, ID: 2, Bytes: 6}}}
	if asked, requested := w.PeakAsked(), w.PeakRequested(); asked != 12 || requested != 11 || w.PeakRequest() != 2 {
		t.Errorf("%d, and %d without the failure, with request %d", asked, requested, w.PeakRequest())
	}
	w = &Workload{Allocations: 1, Requests: []Request{{Kind: FailedMalloc, Bytes: 7}}}
	if asked, requested := w.PeakAsked(), w.PeakRequested(); asked != 7 || requested != 0 || w.PeakRequest() != -1 {
		t.Errorf("of a failure alone: %d, and %d without it, with request %d", asked, requested, w.PeakRequest())
	}
}
