package edges

import "gaugeblock/spec"

// NotDriven are the configurations whose steps are not taken on PyTorch's allocator, and why.
var NotDriven = map[string]string{
	"limit": "its graph is that of core_tiny",

	"own_work":            "a walk does not launch work of an allocation's own stream",
	"expandable_streams":  "as own_work",
	"used_pools":          "the driver of a walk reports every stream whose requests are routed as captured",
	"used_pools_oversize": "as used_pools",
	"expandable_holes":    "its steps are those of expandable",
	"oversize_three":      "its steps are those of oversize",

	"garbage_kinds":       "no limit in bytes counts a small segment and a large one alike, as its units do",
	"need_memory":         "its steps go on while callbacks run; PyTorch holds its mutex then (callers/callback-under-mutex)",
	"garbage_unlimited":   "its steps are those of garbage, without a collection",
	"no_split":            "a walk marks no pool so; random programs do",
	"no_split_pages":      "as no_split",
	"need_memory_streams": "as need_memory",

	"released_routed": "PyTorch erases a pool without uses that requests are routed to (pools/erased-with-memory)",

	"first_routing":     "a walk has the rules of its release, not those of the configuration",
	"overflow_last":     "as first_routing",
	"overflow_pages":    "as first_routing",
	"ties_block":        "as first_routing",
	"ties_block_pages":  "as first_routing",
	"ties_segment":      "as first_routing",
	"pool_end":          "as first_routing",
	"checkpoint_grown":  "as first_routing",
	"used_pools_mark":   "as first_routing",
	"used_streams_mark": "as first_routing",
	"unmarked":          "as first_routing",
	"limit_rounded":     "the limit of a walk is set in bytes, before each malloc",
	"limit_truncated":   "as limit_rounded",

	"pool_faults_pages": "PyTorch does not free the addresses of a pool that is gone, so a call that is to fail is not made",

	"two_faults_pages":     "as pool_faults_pages",
	"capture_faults_pages": "PyTorch does not ask whether a stream is captured when it maps and unmaps pages, so a call that is to fail is not made",
}

// Find is the scale of a configuration; nil if there is none.
func Find(configuration string) *Scale {
	for i := range scales {
		if scales[i].Name == configuration {
			return &scales[i]
		}
	}
	return nil
}

const (
	kib = spec.KiB
	mib = spec.MiB
)

// scales are those of the configurations whose graphs differ.
var scales = []Scale{
	{
		Name: "core_tiny", Memory: 4, Settings: "large_segment_size_mb:16",
		Requests: []Size{{1, mib}, {2, 8 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib},
	},
	{
		Name: "core", Memory: 12, Settings: "large_segment_size_mb:16",
		Requests: []Size{{1, 512 * kib}, {2, mib}, {3, 8 * mib}, {5, 15 * mib}},
		Small:    Size{4, 2 * mib}, Large: Size{6, 16 * mib},
	},
	small("streams", 6),
	wholeSegments("recorded_own", 1),
	{
		Name: "divisions", Memory: 8, Settings: "large_segment_size_mb:16,roundup_power2_divisions:2",
		Requests: []Size{{1, mib}, {4, 16 * mib}, {5, 20 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib}, Others: []Size{{6, 24 * mib}},
	},
	garbage("garbage", 12, 64*mib, Size{2, 16 * mib}, Size{4, 32 * mib}),
	garbage("garbage_streams", 6, 32*mib, Size{2, 16 * mib}),
	oversize("oversize", 12, Size{1, mib}, Size{2, 8 * mib}),
	{
		Name: "rounding", Memory: 20, Settings: "",
		Requests: []Size{{1, 512*kib - 100}, {3, mib - 300}, {4, mib}, {5, 9*mib + 100}, {9, 21*mib + 100}},
		Small:    Size{6, 2 * mib}, Large: Size{10, 20 * mib}, Others: []Size{{12, 22 * mib}},
		Inexact: "the largest small request is two thirds of a segment in the specification, and a half in PyTorch",
	},
	oversize("oversize_tiny", 8),
	settings("settings", 12, 2, 4, 6, 8),
	settings("settings_streams", 6, 2, 6),
	small("three_streams", 2),
	largePages("pages_streams", 4, Size{2, 20 * mib}),
	small("ties", 4),
	smallPages("ties_pages"),
	small("pools_tiny", 2),
	forbidding(small("pools_forbidden", 2)),
	marking(small("current_mark", 2)),
	forbidding(marking(small("current_forbidden", 2))),
	wholeSegments("pool_cache", 2),
	wholeSegments("pool_cache_two", 2),
	largePages("pool_cache_pages", 2, Size{2, 20 * mib}),
	small("pools", 6),
	small("capture", 2),
	{
		Name: "pools_expandable", Memory: 4, Settings: "expandable_segments:True", Total: 35 * mib,
		Requests: []Size{{1, mib}, {2, 20 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{2, 20 * mib}, Others: []Size{{4, 40 * mib}},
		Inexact: "the range of a small segment has 20 pages instead of 2",
	},
	small("two_captures", 2),
	small("two_routings", 2),
	small("two_overflow", 4),
	{
		Name: "overflow_first", Memory: 6, Settings: "large_segment_size_mb:16",
		Requests: []Size{{1, mib}, {2, 8 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib},
	},
	oversize("pools_oversize", 8),
	forbidding(oversize("oversize_forbidden", 8)),
	largePages("pools_pages", 4, Size{2, 20 * mib}, Size{3, 30 * mib}),
	largePages("pools_pages_streams", 4, Size{3, 30 * mib}),
	largePages("two_pools_pages", 2, Size{2, 20 * mib}),
	small("checkpoint_kept", 2),
	small("two_checkpoints", 4),
	oversize("checkpoint_oversize", 8),
	largePages("checkpoint_pages", 4, Size{2, 20 * mib}),
	largePages("checkpoint_again", 4, Size{2, 20 * mib}),
	small("checkpoint_tiny", 4),
	small("checkpoint", 6),
	small("checkpoint_streams", 2),
	smallPages("checkpoint_expandable"),
	{
		Name: "expandable_tiny", Memory: 4, Settings: "expandable_segments:True,large_segment_size_mb:16", Total: smallTotal,
		Requests: []Size{{1, mib}, {2, 8 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib}, Others: []Size{{4, 4 * mib}},
	},
	{
		Name: "expandable", Memory: 6, Settings: "expandable_segments:True", Total: 52 * mib,
		Requests: []Size{{1, mib}, {2, 20 * mib}, {3, 30 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{2, 20 * mib}, Others: []Size{{6, 60 * mib}},
		Inexact: "the range of a small segment has 30 pages instead of 3",
	},
	smallPages("expandable_recorded"),
	{
		Name: "faults", Memory: 6, Settings: "large_segment_size_mb:16",
		Requests: []Size{{2, 16 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{2, 16 * mib},
		CountAsSmall: true,
	},
	{
		Name: "faults_kinds", Memory: 8, Settings: "large_segment_size_mb:16", Limited: true,
		Requests: []Size{{1, mib}, {2, 8 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib},
	},
	oversize("faults_oversize", 8),
	{
		Name: "faults_pages", Memory: 4, Settings: "expandable_segments:True", Total: 35 * mib,
		Requests: []Size{{1, mib}, {3, 30 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{2, 20 * mib}, Others: []Size{{4, 40 * mib}},
		Inexact: "the range of a small segment has 20 pages instead of 2",
	},
	largePages("faults_pages_streams", 4, Size{3, 30 * mib}),
	small("pool_faults", 2),
	small("capture_faults", 2),
	small("two_faults", 2),
	oversize("two_faults_oversize", 8),
	wholeSegments("checkpoint_faults", 1),
	wholeSegments("checkpoint_faults_blocks", 2),
	limited(twoStep(small("two_step_tiny", 4))),
	twoStep(Scale{
		Name: "two_step", Memory: 4, Settings: "large_segment_size_mb:16",
		Requests: []Size{{1, mib}, {2, 8 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib},
	}),
	twoStep(small("two_step_events", 2)),
	twoStep(small("two_step_faults", 2)),
}

// wholeSegments is the scale of a configuration with requests of one unit, which is a segment.
func wholeSegments(name string, memory uint64) Scale {
	return Scale{
		Name: name, Memory: memory, Settings: "large_segment_size_mb:16",
		Requests: []Size{{1, 16 * mib}},
		Small:    Size{1, 2 * mib}, Large: Size{1, 16 * mib},
		CountAsSmall: true,
	}
}

// twoStep is a scale on which mallocs release the lock.
func twoStep(s Scale) Scale {
	if s.Settings != "" {
		s.Settings += ","
	}
	s.Settings += "release_lock_on_cudamalloc:True"
	s.TwoStep = true
	return s
}

// limited is a scale with a limit.
func limited(s Scale) Scale {
	s.Limited = true
	return s
}

// forbidding is a scale on which captures forbid to free memory.
func forbidding(s Scale) Scale {
	s.Forbids = true
	return s
}

// garbage is the scale of one with garbage collection and large segments only: a unit is 8 MiB.
func garbage(name string, memory, limit uint64, requests ...Size) Scale {
	return Scale{
		Name: name, Memory: memory, Settings: "large_segment_size_mb:16,garbage_collection_threshold:0.5", LimitBytes: limit,
		Requests: requests, Small: Size{1, 2 * mib}, Large: Size{2, 16 * mib}, Others: []Size{{4, 32 * mib}},
	}
}

// marking is a scale of a configuration of CurrentStream.tla.
func marking(s Scale) Scale {
	s.Marks = true
	return s
}

// small is the scale of a configuration with requests of one unit, which are half of a small
// segment: a unit is a MiB.
func small(name string, memory uint64) Scale {
	return Scale{
		Name: name, Memory: memory,
		Requests: []Size{{1, mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 20 * mib},
	}
}

// smallTotal is the size of a device on which a range of addresses, 9/8 of it, has two small
// pages.
const smallTotal = 3*mib + 512*kib

// smallPages is that of one with expandable segments, of a device of two pages.
func smallPages(name string) Scale {
	return Scale{
		Name: name, Memory: 4, Settings: "expandable_segments:True", Total: smallTotal,
		Requests: []Size{{1, mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 20 * mib}, Others: []Size{{4, 4 * mib}},
	}
}

// oversize is the scale of one in which blocks of 4 units and more are oversize, and those of 6
// too large for a request of 4. They are never split, so that 6 units need not be half as much
// again as 4.
func oversize(name string, memory uint64, smaller ...Size) Scale {
	return Scale{
		Name: name, Memory: memory, Settings: "large_segment_size_mb:16,max_split_size_mb:16,max_non_split_rounding_mb:16",
		Requests: append(smaller, Size{4, 16 * mib}, Size{6, 32 * mib}),
		Small:    Size{2, 2 * mib}, Large: Size{4, 16 * mib}, Others: []Size{{6, 32 * mib}},
	}
}

// largePages is the scale of one with large expandable segments only, of pages of 2 units.
func largePages(name string, memory uint64, requests ...Size) Scale {
	page := 20 * mib
	return Scale{
		Name: name, Memory: memory, Settings: "expandable_segments:True",
		// 9/8 of it are just below as many pages as the device has.
		Total:    memory/2*page*8/9 - 512*kib,
		Requests: requests,
		Small:    Size{2, 2 * mib}, Large: Size{2, page}, Others: []Size{{memory, memory / 2 * page}},
	}
}

// settings is that of one in which max_split_size changes between 4 units and none: a unit of
// a large segment is 4 MiB.
func settings(name string, memory uint64, requests ...uint64) Scale {
	s := Scale{
		Name: name, Memory: memory, Settings: "large_segment_size_mb:16",
		MaxSplits: []Size{{4, 16 * mib}, {100, 400 * mib}},
		Small:     Size{2, 2 * mib}, Large: Size{4, 16 * mib}, Others: []Size{{6, 24 * mib}, {8, 32 * mib}},
	}
	for _, units := range requests {
		s.Requests = append(s.Requests, Size{units, units * 4 * mib})
	}
	return s
}
