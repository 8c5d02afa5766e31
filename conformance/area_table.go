package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Every area asks for memory and gives it back, on several streams.
func basics(more ...Share) []Share {
	return append([]Share{
		{trace.OpMalloc, 40}, {trace.OpFree, 25}, {trace.OpRecordStream, 8},
		{trace.OpBusy, 3}, {trace.OpDrain, 5}, {trace.OpKernel, 20}, {trace.OpEmptyCache, 1}, {trace.OpWaitStream, 5},
	}, more...)
}

var (
	cacheLabels = []Label{HitWhole, HitSplit, MissWhole, MissSplit, MergeNone, MergeLeft, MergeRight, MergeBoth}
	eventLabels = []Label{EventHeldBack, EventCompleted}
	// Neither has an effect on what the others do to each other.
	roundings = []string{"", "roundup_power2_divisions:4", "roundup_power2_divisions:[1:2,8:4,>:8]"}
)

var areas = []Area{
	{
		Name: "core", What: "malloc, free and record_stream on five streams, with work that is slow",
		Devices: 1, Streams: 4, Memory: 256 * spec.MiB, Live: 40,
		Settings: append([]string{"large_segment_size_mb:32", "release_lock_on_cudamalloc:True"}, roundings...),
		Kinds:    basics(statsShares...),
		Labels:   concat(cacheLabels, eventLabels, []Label{Retry, OutOfMemory, TooLarge, Waited}),
	},
	{
		Name: "streams", What: "streams that wait for each other, events, copies",
		Devices: 1, Streams: 4, Memory: spec.GiB, Live: 30,
		Settings: []string{""},
		Kinds:    basics(streamShares...),
		Labels:   eventLabels,
	},
	{
		Name: "limits", What: "memory limits, oversize blocks, garbage collection, other programs, callbacks, no caching",
		Devices: 1, Streams: 2, Memory: 512 * spec.MiB, Live: 40,
		Settings: []string{"", "max_split_size_mb:20", "garbage_collection_threshold:0.4", "max_split_size_mb:40,max_non_split_rounding_mb:41"},
		Configures: []string{
			"max_split_size_mb:20", "max_split_size_mb:30", "garbage_collection_threshold:0.3", "garbage_collection_threshold:0.8",
			"max_split_size_mb:40,max_non_split_rounding_mb:50", "max_split_size_mb:24,garbage_collection_threshold:0.5",
			"roundup_power2_divisions:8", "large_segment_size_mb:12,max_split_size_mb:12", "release_lock_on_cudamalloc:True", "",
		},
		Sizes:  []uint64{12 * spec.MiB, 24 * spec.MiB, 30 * spec.MiB, 40 * spec.MiB, 50 * spec.MiB, 60 * spec.MiB},
		Kinds:  basics(limitShares...),
		Misuse: limitMisuse,
		Labels: []Label{FitRefused, Collected, OversizeAllocated, Retry, OutOfMemory, CallbackFreed, Uncached},
	},
	{
		Name: "expandable", What: "segments that grow and shrink, switched on and off",
		Devices: 1, Streams: 3, Memory: 512 * spec.MiB, Live: 40,
		Settings: []string{"expandable_segments:True", "expandable_segments:True,large_segment_size_mb:12"},
		Configures: []string{
			"expandable_segments:True", "expandable_segments:True", "expandable_segments:False",
			"expandable_segments:True,max_split_size_mb:32", "expandable_segments:True,garbage_collection_threshold:0.5",
			"expandable_segments:True,large_segment_size_mb:32",
		},
		Kinds: basics(Share{trace.OpConfigure, 1}, Share{trace.OpSetMemoryFraction, 2}, Share{trace.OpDeviceFree, 1},
			Share{trace.OpEmptyCache, 3}),
		Labels: []Label{Mapped, Grown, Unmapped, UnmapPartial, SegmentDropped, OutOfMemory, EventHeldBack, MissSplit, Waited},
	},
	{
		Name: "pools", What: "private pools, by stream and by thread, as overflow and without splitting",
		Devices: 1, Streams: 3, Threads: 3, Memory: 512 * spec.MiB, Live: 40, Marks: true, Pools: true,
		Settings: []string{"", "expandable_segments:True", "max_split_size_mb:20"},
		Kinds:    basics(concat(poolShares, []Share{{trace.OpSetMemoryFraction, 1}})...),
		Misuse:   poolMisuse,
		Labels:   []Label{FromPool, PoolEmptied, PoolForgotten, Overflow, NoSplitWhole, HitSplit, MergeBoth},
	},
	{
		Name: "capture", What: "graphs captured on streams that fork and join, and launched",
		Devices: 1, Streams: 4, Threads: 2, Memory: 512 * spec.MiB, Live: 40,
		Settings: []string{
			"", "graph_capture_record_stream_reuse:True",
			"expandable_segments:True", "expandable_segments:True,graph_capture_record_stream_reuse:True",
			"max_split_size_mb:20", "max_split_size_mb:30,graph_capture_record_stream_reuse:True",
		},
		Kinds:  basics(concat(poolShares, captureShares, []Share{{trace.OpKernel, 16}, {trace.OpRecordStream, 12}, {trace.OpRecordEvent, 3}, {trace.OpWaitEvent, 3}, {trace.OpEmptyCache, 3}, {trace.OpPoolRelease, 3}})...),
		Misuse: captureMisuse,
		Labels: []Label{FromPool, MallocCaptured, FreeDeferred, DeferredHeld, DeferredFreed, ReusedInGraph, Waited},
	},
	{
		Name: "checkpoint", What: "pools that are checkpointed and restored",
		Devices: 1, Streams: 2, Threads: 2, Memory: 512 * spec.MiB, Live: 40,
		Settings: []string{"", "expandable_segments:True", "roundup_power2_divisions:8", "max_split_size_mb:20"},
		Kinds:    basics(concat(poolShares, checkpointShares)...),
		Misuse:   poolMisuse,
		Labels:   []Label{RestoreFreed, RestoreCreated, FromPool},
	},
	{
		Name: "sharing", What: "memory that another process opens",
		Devices: 2, Streams: 1, Memory: 512 * spec.MiB, Live: 25,
		Settings: []string{"", "expandable_segments:True"},
		Kinds:    basics(sharingShares...),
	},
	{
		Name: "devices", What: "three devices that reach each other's memory",
		Devices: 3, Streams: 2, Memory: 256 * spec.MiB, Live: 40,
		Settings: []string{"", "expandable_segments:True"},
		Kinds:    basics(peerShares...),
		Misuse:   peerMisuse,
		Labels:   concat(eventLabels, []Label{KernelAcross, CopyAcross}),
	},
}

func concat[T any](lists ...[]T) (all []T) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
