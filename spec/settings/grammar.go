package settings

// A Grammar says in what a release of PyTorch reads settings strings differently from 2.11.
// The zero value is 2.11. Package upstream has that of each release.
type Grammar struct {
	// Keys are the keys that 2.11 does not have and the release has, or the other way round.
	Keys KeySet
	// NonSplitRoundingKept: a string that does not name max_non_split_rounding_mb leaves its
	// value as it is. In 2.11 such a string sets it to the large segment size
	// (pytorch/pytorch#172056).
	NonSplitRoundingKept bool
	// RestIncludesLast: in a list of roundup_power2_divisions the entry '>' begins at the
	// bucket that was named last, so that this bucket's own number has no effect. In 2.11 it
	// begins behind that bucket (pytorch/pytorch#161786).
	RestIncludesLast bool
	// SplitSize is the smallest max_split_size_mb that is accepted.
	SplitSize SplitSizeBound
}

// A SplitSizeBound is the smallest max_split_size_mb that is accepted.
type SplitSizeBound uint8

const (
	// SplitSizeFromSegment: the large segment size (pytorch/pytorch#172056).
	SplitSizeFromSegment SplitSizeBound = iota
	// SplitSizeFrom20: 20, the size of kLargeBuffer.
	SplitSizeFrom20
	// SplitSizeAbove20: 21.
	SplitSizeAbove20
)

// A KeySet is a set of settings keys that not every release has.
type KeySet uint16

const (
	KeyLargeSegmentSize KeySet = 1 << iota // large_segment_size_mb
	KeyThrowOnOOM                          // throw_on_cudamalloc_oom
	KeyReserve                             // expandable_segments_reserve
	KeyReserveByClass                      // expandable_segments_reserve_by_class
)
