package settings

// A Grammar says in what a release of PyTorch reads settings strings differently from 2.11.
// The zero value is 2.11. Package upstream has that of each release.
type Grammar struct {
	// Keys are those that the release has and 2.11 has not, and those that 2.11 has and the
	// release has not.
	Keys KeySet
	// NonSplitRoundingKept: a string that does not name max_non_split_rounding_mb leaves its
	// value as it is. In 2.11 such a string sets it to the large segment size
	// (pytorch/pytorch#172056).
	NonSplitRoundingKept bool
	// RestIncludesLast: in a list of roundup_power2_divisions the entry '>' begins at the
	// bucket that was named last, so that this bucket's own number has no effect. In 2.11 it
	// begins after that bucket (pytorch/pytorch#161786).
	RestIncludesLast bool
	// SplitSizeAboveSegment: max_split_size_mb and max_non_split_rounding_mb must be above the
	// large segment size. In 2.11 they may be equal to it.
	SplitSizeAboveSegment bool
}

// A KeySet is a set of settings keys that not every release has.
type KeySet uint16

const (
	KeyGraphReuse         KeySet = 1 << iota // graph_capture_record_stream_reuse
	KeyFraction                              // per_process_memory_fraction
	KeyPinnedReserve                         // pinned_reserve_segment_size_mb
	KeyLargeSegmentSize                      // large_segment_size_mb
	KeyThrowOnOOM                            // throw_on_cudamalloc_oom
	KeyPinnedFreeCatchAll                    // pinned_free_catch_all
	// pinned_max_round_threshold_mb, pinned_max_cached_size_mb
	KeyPinnedMaxima
	KeyReserve // expandable_segments_reserve, and ..._by_class
)

// keysOf211 are those that 2.11 has.
const keysOf211 = KeyGraphReuse | KeyFraction | KeyPinnedReserve | KeyLargeSegmentSize

// optionalKeys are the keys that not every release has.
var optionalKeys = map[string]KeySet{
	"graph_capture_record_stream_reuse": KeyGraphReuse,
	"per_process_memory_fraction":       KeyFraction,
	"pinned_reserve_segment_size_mb":    KeyPinnedReserve,
	keyLargeSegmentSize:                 KeyLargeSegmentSize,
	"throw_on_cudamalloc_oom":           KeyThrowOnOOM,
	"pinned_free_catch_all":             KeyPinnedFreeCatchAll,
	"pinned_max_round_threshold_mb":     KeyPinnedMaxima,
	"pinned_max_cached_size_mb":         KeyPinnedMaxima,
	"expandable_segments_reserve":       KeyReserve,
	keyReserveByClass:                   KeyReserve,
}

// Has reports whether the release has the key, by either of its names.
func (g Grammar) Has(key string) bool { return g.setter(key) != nil }

// KeyNames are the names of the keys that the release has, in the order in which Format
// writes them, without other names for the same.
func (g Grammar) KeyNames() (names []string) {
	for _, k := range keys {
		if g.has(k) {
			names = append(names, k.name)
		}
	}
	return names
}
