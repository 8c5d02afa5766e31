package upstream

import (
	"slices"

	"gaugeblock/spec/settings"
)

// A Release is a version of PyTorch whose allocator is known.
type Release struct {
	// Name is the version without its last number: "2.13". A back-port that decides otherwise
	// is a release of its own, with the name of its variant: "2.11+rocm".
	Name string
	// Tried is the version whose libraries were run beside the reference; "" if nobody did.
	Tried string
	// Rules are its decisions.
	Rules Rules
}

// A change is a release, said as what it changes relative to the one before it.
type change struct {
	name, tried string
	rules       func(*Rules)
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
	{"2.6", "2.6.0", func(*Rules) {}},
	{"2.7", "2.7.1", func(*Rules) {}},
	{"2.8", "2.8.0", func(r *Rules) { r.RoutedEmptyCacheFails = false }},
	{"2.9", "2.9.1", func(r *Rules) { r.Settings.Keys ^= settings.KeyGraphReuse }},
	{"2.10", "2.10.0", func(r *Rules) {
		r.Settings.Keys ^= settings.KeyFraction | settings.KeyPinnedReserve
		r.Settings.RestIncludesLast = false
		r.Settings.SplitSizeAboveSegment = false
		r.UseOnOOMExpandable = false
		r.FirstRoutingWins = false
		r.FullFractionLimits = false
		r.FractionMakesCurrent = false
	}},
	{"2.11", "2.11.0", func(r *Rules) {
		r.Settings.Keys ^= settings.KeyLargeSegmentSize
		r.Settings.NonSplitRoundingKept = false
		r.UseOnOOMLast = false
		r.RestoreRefusesGrown = false
	}},
	{"2.12", "2.12.1", func(r *Rules) {
		r.Settings.Keys ^= settings.KeyThrowOnOOM | settings.KeyPinnedFreeCatchAll
		r.Ties = TiesByBlock
		r.PoolEndCompletesDeferred = true
	}},
	{"2.13", "2.13.0", func(r *Rules) {
		r.Settings.Keys ^= settings.KeyPinnedMaxima
		r.Ties = TiesBySegment
		r.Captures = CapturesByMark
		r.LimitRounded = true
		r.FabricByQuery = true
		r.FabricPagesUnmap = true
		r.HandleSaysKind = true
		r.ExactAddress = ExactAddressInUserMetadata
		r.PrivatePoolStats = true
	}},
	{"2.14", "2.14.1", func(r *Rules) {
		r.FailedMappingUndone = true
		r.FailedUnmapAsserts = true
		r.FailedImportUndone = true
		r.Annotations = true
	}},
	{"2.15", "2.15.0", func(r *Rules) {
		r.Settings.Keys ^= settings.KeyReserve
		r.ImportReservesItsSize = true
		r.UnmapWaitsForItsDevice = true
		r.ExactAddress = ExactAddressInInternalMetadata
	}},
}

// releases are those of changes, each with all its rules.
var releases = func() (all []Release) {
	rules := first
	for _, c := range changes {
		c.rules(&rules)
		all = append(all, Release{c.name, c.tried, rules})
	}
	return all
}()

// Releases are those that are known, oldest first.
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
