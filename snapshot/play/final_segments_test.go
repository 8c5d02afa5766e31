package play

import (
	"testing"

	"gaugeblock/spec"
)

// TestDifferentSegments: requested sizes count for active blocks of a complete history.
func TestDifferentSegments(t *testing.T) {
	segment := func(state spec.BlockState, requested uint64) []spec.Segment {
		s := spec.Segment{Address: 0x1000, TotalSize: 512, Blocks: []spec.Block{{Address: 0x1000, Size: 512, RequestedSize: requested, State: state}}}
		if state != spec.Inactive {
			s.ActiveSize, s.AllocatedSize, s.RequestedSize = 512, 512, requested
		}
		return []spec.Segment{s}
	}
	for _, test := range []struct {
		what     string
		state    spec.BlockState
		complete bool
		same     bool
	}{{"active", spec.ActiveAllocated, true, false}, {"active, and the start is missing", spec.ActiveAllocated, false, true}, {"inactive", spec.Inactive, true, true}} {
		if got := differentSegments(segment(test.state, 100), segment(test.state, 200), test.complete); (got == nil) != test.same {
			t.Errorf("%s: %+v", test.what, got)
		}
	}
	if got := differentSegments(segment(spec.Inactive, 0), nil, true); got == nil || got.Kind != SegmentNumber || got.Numbers != [2]int{1, 0} {
		t.Errorf("a segment is missing: %+v", got)
	}
}
