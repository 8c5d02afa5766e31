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

// TestEachDifference: each of what two segments have in common tells them apart, the order of segments does not, and a
// block without a requested size has none to compare.
func TestEachDifference(t *testing.T) {
	segment := func(change func(*spec.Segment)) spec.Segment {
		s := spec.Segment{Address: 0x1000, TotalSize: 1024, ActiveSize: 512, AllocatedSize: 512, Blocks: []spec.Block{
			{Address: 0x1000, Size: 512, RequestedSize: 100, State: spec.ActiveAllocated}, {Address: 0x1200, Size: 512, State: spec.Inactive},
		}}
		change(&s)
		return s
	}
	same := func(*spec.Segment) {}
	other := func(s *spec.Segment) { s.Stream = 7 }
	for _, test := range []struct {
		what     string
		recorded func(*spec.Segment)
		replayed func(*spec.Segment)
		want     DifferenceKind // "" for none
	}{
		{"nothing", same, same, ""},
		{"address", same, func(s *spec.Segment) { s.Address = 0x2000 }, ""},
		{"stream", same, other, OtherSegment},
		{"kind", same, func(s *spec.Segment) { s.PoolKind++ }, OtherSegment},
		{"expandable", same, func(s *spec.Segment) { s.Expandable = true }, OtherSegment},
		{"size", same, func(s *spec.Segment) { s.TotalSize = 2048 }, OtherSegment},
		{"a block's size", same, func(s *spec.Segment) { s.Blocks[0].Size = 1024 }, OtherSegment},
		{"a block's state", same, func(s *spec.Segment) { s.Blocks[0].State = spec.ActivePendingFree }, OtherSegment},
		{"a block less", same, func(s *spec.Segment) { s.Blocks = s.Blocks[:1] }, OtherSegment},
		{"requested", same, func(s *spec.Segment) { s.Blocks[0].RequestedSize = 101 }, OtherSegment},
		{"not recorded", func(s *spec.Segment) { s.Blocks[0].RequestedSize = 0 }, same, ""},
		{"of one byte", func(s *spec.Segment) { s.Blocks[0].RequestedSize = 1 }, same, OtherSegment},
		{"wrong sums", func(s *spec.Segment) { s.ActiveSize = 511 }, same, SegmentFigures},
		{"no sums", func(s *spec.Segment) { s.ActiveSize, s.AllocatedSize = 0, 0 }, same, ""},
	} {
		recorded := []spec.Segment{segment(test.recorded), segment(func(s *spec.Segment) { other(s); s.TotalSize = 4096 })}
		replayed := []spec.Segment{segment(func(s *spec.Segment) { other(s); s.TotalSize = 4096 }), segment(test.replayed)}
		got := differentSegments(recorded, replayed, true)
		if got == nil && test.want != "" || got != nil && got.Kind != test.want {
			t.Errorf("%s: %+v, not %q", test.what, got, test.want)
		}
	}
}
