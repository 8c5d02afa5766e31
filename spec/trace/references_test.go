package trace

import (
	"strings"
	"testing"

	"gaugeblock/spec"
)

// TestOutputsAreInUse: outputs of graph trees count as allocations do.
func TestOutputsAreInUse(t *testing.T) {
	r := newReferences(&Header{Streams: []spec.Stream{0}, Devices: 1})
	r.limit = 3
	r.allocs[1], r.allocs[2] = allocLive, allocLive
	r.outputs[TreeOutput{}] = true
	if wrong := r.follow(&Op{Kind: OpEmptyCache}); wrong != "" {
		t.Error(wrong)
	}
	r.outputs[TreeOutput{1, 1}] = true
	if wrong := r.follow(&Op{Kind: OpEmptyCache}); !strings.HasPrefix(wrong, "more than 3 ") {
		t.Errorf("%q", wrong)
	}
}

// TestLentOnce: a callback frees an allocation once.
func TestLentOnce(t *testing.T) {
	r := newReferences(&Header{})
	r.allocs[1], r.allocs[2] = allocLive, allocLive
	if wrong := r.checkLent([]int64{1, 2}); wrong != "" {
		t.Error(wrong)
	}
	if wrong := r.checkLent([]int64{1, 2, 1}); wrong != "id 1 cannot be freed by the callback: it is not allocated" {
		t.Errorf("%q", wrong)
	}
}
