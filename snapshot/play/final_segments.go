package play

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// The segments of the snapshot are compared with those at the end of the replay: sizes,
// streams, kinds, and the blocks with their states. Addresses are not compared here: every
// entry of the history was, and those of expandable segments are not reproduced.

// differentSegments says how the segments of the replay differ, nil if they do not.
// Requested sizes are compared if the replay began with the first request.
func differentSegments(recorded, replayed []spec.Segment, complete bool) *Difference {
	if len(recorded) != len(replayed) {
		return &Difference{Kind: SegmentNumber, Numbers: [2]int{len(recorded), len(replayed)}}
	}
	compareBlocks := func(a, b spec.Block) int {
		c := cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.State, b.State))
		if c == 0 && complete && a.State != spec.Inactive && a.RequestedSize > 0 { // that of an inactive block is left over
			c = cmp.Compare(a.RequestedSize, b.RequestedSize)
		}
		return c
	}
	compare := func(a, b spec.Segment) int {
		return cmp.Or(compareSegments(a, b), slices.CompareFunc(a.Blocks, b.Blocks, compareBlocks))
	}
	a, b := slices.Clone(recorded), slices.Clone(replayed)
	slices.SortFunc(a, compare)
	slices.SortFunc(b, compare)
	for i := range a {
		if compare(a[i], b[i]) != 0 {
			return &Difference{Kind: OtherSegment, Segments: [2]*spec.Segment{&a[i], &b[i]}}
		}
		if wrongFigures(&a[i]) {
			return &Difference{Kind: SegmentFigures, Segments: [2]*spec.Segment{&a[i], &a[i]}}
		}
	}
	return nil
}

func compareSegments(a, b spec.Segment) int {
	expandable := func(s *spec.Segment) int {
		if s.Expandable {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.PoolKind, b.PoolKind), cmp.Compare(expandable(&a), expandable(&b)),
		cmp.Compare(a.TotalSize, b.TotalSize))
}

// SegmentSums are the allocated and active bytes of a segment, of its blocks.
func SegmentSums(s *spec.Segment) (allocated, active uint64) {
	for _, b := range s.Blocks {
		if b.State != spec.Inactive {
			active += b.Size
		}
		if b.State == spec.ActiveAllocated {
			allocated += b.Size
		}
	}
	return allocated, active
}

// wrongFigures reports whether the figures that the snapshot has for a segment contradict
// its blocks. Some files have none.
func wrongFigures(s *spec.Segment) bool {
	allocated, active := SegmentSums(s)
	return (s.AllocatedSize != 0 || s.ActiveSize != 0) && (s.AllocatedSize != allocated || s.ActiveSize != active)
}
