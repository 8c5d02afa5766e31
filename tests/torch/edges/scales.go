package edges

import "gaugeblock/spec"

// NotDriven are the configurations whose steps are no calls of an allocator, and why.
var NotDriven = map[string]string{
	"two_step_tiny": "a step is a part of a malloc, between two releases of the lock",
	"two_step":      "the same",
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
	{
		// A large request is below 10 MiB and oversize begins at 20 MiB, so two of them do
		// not fill an oversize segment.
		Name: "oversize", Memory: 12, Settings: "max_split_size_mb:20,max_non_split_rounding_mb:21",
		Requests: []Size{{1, mib}, {2, 9*mib + 512*kib}, {4, 20 * mib}, {6, 42 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{4, 20 * mib}, Others: []Size{{6, 42 * mib}},
		Inexact: "no two large requests are half of an oversize segment each",
	},
	{
		Name: "rounding", Memory: 20, Settings: "",
		Requests: []Size{{1, 512*kib - 100}, {3, mib - 300}, {4, mib}, {5, 9*mib + 100}, {9, 21*mib + 100}},
		Small:    Size{6, 2 * mib}, Large: Size{10, 20 * mib}, Others: []Size{{12, 22 * mib}},
		Inexact: "the largest small request is two thirds of a segment in the specification, and a half in PyTorch",
	},
	small("pools_tiny", 2),
	small("pools", 6),
	small("capture", 2),
	{
		Name: "pools_expandable", Memory: 4, Settings: "expandable_segments:True", Total: 35 * mib,
		Requests: []Size{{1, mib}, {2, 20 * mib}},
		Small:    Size{2, 2 * mib}, Large: Size{2, 20 * mib}, Others: []Size{{4, 40 * mib}},
		Inexact: "the range of a small segment has 20 pages instead of 2",
	},
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
	smallPages("expandable_streams"),
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
