package upstream

import (
	"slices"

	"gaugeblock/spec/settings"
)

// A Release is a version of PyTorch whose allocator is known.
type Release struct {
	// Name is the version without its last number: "2.13". A back-port is a release of its own,
	// with the name of its variant: "2.11+rocm".
	Name string
	// Tried is the version whose libraries were run beside the reference; "" if nobody did.
	Tried string
	// Lockstep is how many operations these libraries and the reference performed beside each
	// other in the later runs of docs/lab/torch-releases.md, in which no difference was
	// unexplained; 0 if there are none.
	Lockstep int
	// Note is what else there is to say, a sentence.
	Note string
	// Rules are its decisions.
	Rules Rules
	// Statistics are the keys of memory_stats that it was the first to have, separated by spaces.
	Statistics string
	// LibraryMark is a string that libc10_cuda.so has from this release on.
	LibraryMark string
}

// A change is a release, said as what it changes relative to the one before it. The sizes of
// spec.Geometry are the same in all of them.
type change struct {
	name, tried, note string
	lockstep          int
	rules             func(*Rules)
	statistics, mark  string
	backport          bool // the next release is made of the one before it
}

// first are the rules of the oldest release that is known, 2.6.
var first = Rules{
	Settings: settings.Grammar{
		Keys: settings.KeyGraphReuse | settings.KeyFraction | settings.KeyPinnedReserve |
			settings.KeyLargeSegmentSize, // 2.11 has them
		NonSplitRoundingKept:  true,
		RestIncludesLast:      true,
		SplitSizeAboveSegment: true,
	},
	UseOnOOMLast:          true,
	UseOnOOMExpandable:    true,
	FirstRoutingWins:      true,
	FullFractionLimits:    true,
	FractionMakesCurrent:  true,
	RestoreRefusesGrown:   true,
	RoutedEmptyCacheFails: true,
}

// changes are the releases, oldest first.
var changes = []change{
	{name: "2.6", tried: "2.6.0"},
	{name: "2.7", tried: "2.7.1", mark: "getIpcDevPtrENSt7__cxx11"},
	{
		name: "2.8", tried: "2.8.0", lockstep: 10_036_820, mark: "use posix fd to share expandable segments.",
		rules: func(r *Rules) { r.RoutedEmptyCacheFails = false },
	},
	{
		name: "2.9", tried: "2.9.1", lockstep: 10_031_467,
		mark:  "graph_capture_record_stream_reuse",
		rules: func(r *Rules) { r.Settings.Keys ^= settings.KeyGraphReuse },
	},
	{
		name: "2.10", tried: "2.10.0", lockstep: 10_031_751, mark: "pinned_reserve_segment_size_mb",
		rules: func(r *Rules) {
			r.Settings.Keys ^= settings.KeyFraction | settings.KeyPinnedReserve
			r.Settings.RestIncludesLast = false
			r.Settings.SplitSizeAboveSegment = false
			r.UseOnOOMExpandable = false
			r.FirstRoutingWins = false
			r.FullFractionLimits = false
			r.FractionMakesCurrent = false
		},
	},
	{
		name: "2.11", tried: "2.11.0", lockstep: 10_030_278, mark: "cuMemRetainAllocationHandle",
		rules: func(r *Rules) {
			r.Settings.Keys ^= settings.KeyLargeSegmentSize
			r.Settings.NonSplitRoundingKept = false
			r.UseOnOOMLast = false
			r.RestoreRefusesGrown = false
		},
	},
	{
		name: "2.11+rocm", backport: true,
		note: "ROCm's own 2.11 has expandable segments, back-ported from 2.12 (ROCm/pytorch#3106), and no fabric handles",
	},
	{
		name: "2.12", tried: "2.12.1", lockstep: 10_029_528, statistics: "num_oom_rejections",
		mark: "Preemptively rejecting allocation: requested ",
		rules: func(r *Rules) {
			r.Settings.Keys ^= settings.KeyThrowOnOOM | settings.KeyPinnedFreeCatchAll
			r.Ties = TiesByBlock
			r.PoolEndCompletesDeferred = true
		},
	},
	{
		name: "2.13", tried: "2.13.0", lockstep: 10_024_426, statistics: "reserved_bytes_by_private_pools", mark: "allocateWithAddress",
		rules: func(r *Rules) {
			r.Settings.Keys ^= settings.KeyPinnedMaxima
			r.Ties = TiesBySegment
			r.Captures = CapturesByMark
			r.LimitRounded = true
			r.FabricByQuery = true
			r.FabricPagesUnmap = true
			r.HandleSaysKind = true
			r.ExactAddress = ExactAddressInUserMetadata
			r.PrivatePoolStats = true
		},
	},
	{
		name: "2.14", tried: "2.14.1", lockstep: 10_038_010,
		mark: "annotateMemory: no live allocation found at pointer ",
		rules: func(r *Rules) {
			r.FailedMappingUndone = true
			r.FailedUnmapAsserts = true
			r.FailedImportUndone = true
			r.Annotations = true
		},
	},
	{
		name: "2.15", tried: "2.15.0", lockstep: 10_043_817, mark: "expandable_segments_reserve_by_class",
		rules: func(r *Rules) {
			r.Settings.Keys ^= settings.KeyReserve
			r.ImportReservesItsSize = true
			r.UnmapWaitsForItsDevice = true
			r.ExactAddress = ExactAddressInInternalMetadata
		},
	},
}

// releases are those of changes, each with all its rules.
var releases = func() (all []Release) {
	rules := first
	for _, c := range changes {
		own := rules
		if c.rules != nil {
			c.rules(&own)
		}
		if !c.backport {
			rules = own
		}
		all = append(all, Release{
			Name: c.name, Tried: c.tried, Lockstep: c.lockstep, Note: c.note, Rules: own,
			Statistics: c.statistics, LibraryMark: c.mark,
		})
	}
	return all
}()

// Releases are those that are known, oldest first; a back-port follows its release.
func Releases() []Release { return slices.Clone(releases) }

// Newest is the newest release that is known.
func Newest() Release { return releases[len(releases)-1] }

// Find is the release of that name.
func Find(name string) (r Release, found bool) {
	i := slices.IndexFunc(releases, func(r Release) bool { return r.Name == name })
	if i < 0 {
		return Release{}, false
	}
	return releases[i], true
}

// OldestWith is the oldest release that decides by these rules.
func OldestWith(rules Rules) (r Release, found bool) {
	i := slices.IndexFunc(releases, func(r Release) bool { return r.Rules == rules })
	if i < 0 {
		return Release{}, false
	}
	return releases[i], true
}
