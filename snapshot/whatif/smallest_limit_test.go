package whatif

import (
	"testing"

	"gaugeblock/spec"
)

// TestPeakRequested: a restore of a pool makes freed allocations live again, and frees
// others. A free of what is not live changes nothing.
func TestPeakRequested(t *testing.T) {
	malloc := func(id int32, bytes uint64) Request { return Request{Kind: Malloc, ID: id, Bytes: bytes} }
	free := func(id int32) Request { return Request{Kind: Free, ID: id} }
	restore := Request{Kind: Other, ID: 0}
	for _, c := range []struct {
		what     string
		requests []Request
		op       repeatedOp
		want     uint64
	}{
		{"freed twice", []Request{malloc(0, 5), free(0), free(0), malloc(1, 6)}, repeatedOp{}, 6},
		{"live again", []Request{malloc(0, 5), free(0), restore, malloc(1, 6)}, repeatedOp{live: []int32{0}}, 11},
		{"live again, and freed", []Request{malloc(0, 5), free(0), restore, free(0), malloc(1, 6)}, repeatedOp{live: []int32{0}}, 6},
		{"freed by it", []Request{malloc(0, 5), restore, malloc(1, 6)}, repeatedOp{freed: []int32{0}}, 6},
	} {
		w := &Workload{Requests: c.requests, Allocations: 2, ops: []repeatedOp{c.op}}
		if got := w.peakRequested(); got != c.want {
			t.Errorf("%s: %d, not %d", c.what, got, c.want)
		}
	}
}

// TestStepsOfSmallestLimit: the limit is found to the step, wherever the search begins. Without a limit a block that was
// freed stays cached; under one it is freed.
func TestStepsOfSmallestLimit(t *testing.T) {
	const last = 64
	w := &Workload{Config: defaultConfig(), Allocations: 2}
	for cached := uint64(10); cached < last; cached += 2 {
		w.Requests = []Request{{Kind: Malloc, ID: 0, Bytes: cached * spec.MiB}, {Kind: Free, ID: 0}, {Kind: Malloc, ID: 1, Bytes: last * spec.MiB}}
		for _, r := range []Reading{{}, {Limits: Limits{Device: 1}}, {Limits: Limits{Fraction: 1, Device: 1}}} {
			if got, err := smallestLimit(w, "", measuredDriver, r); got != last*spec.MiB || err != nil {
				t.Errorf("with %d MiB cached: %d, %v", cached, got, err)
			}
		}
	}
	// A memory fraction is compared with the request's segment, and the device has to have the whole pages that are mapped.
	w.Requests = []Request{{Kind: Malloc, Bytes: 30 * spec.MiB}}
	for _, test := range []struct {
		limits Limits
		want   uint64
	}{{Limits{}, 30}, {Limits{Fraction: 1}, 30}, {Limits{Device: 1}, 40}, {Limits{Fraction: 1, Device: 1}, 30}} {
		if got, err := smallestLimit(w, "expandable_segments:True", measuredDriver, Reading{Limits: test.limits}); got != test.want*spec.MiB || err != nil {
			t.Errorf("%+v with expandable segments: %d, %v", test.limits, got, err)
		}
	}
	w.Requests = nil
	if got, err := smallestLimit(w, "", measuredDriver, Reading{}); got != limitStep || err != nil {
		t.Errorf("without requests: %d, %v", got, err)
	}
	w.Unrecorded.PoolFailures = 1
	if got, err := smallestLimit(w, "", measuredDriver, Reading{}); got != 0 || err != nil {
		t.Errorf("with a failure of a private pool: %d, %v", got, err)
	}
	if _, err := smallestLimit(&Workload{}, "no_setting:1", measuredDriver, Reading{}); err == nil {
		t.Error("a limit is found under settings that are none")
	}
}
