package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The labels, and how each is recognised in what is seen.
const (
	HitWhole          Label = "hit whole"        // a cached block, as it is
	HitSplit          Label = "hit split"        // a cached block, cut
	MissWhole         Label = "miss whole"       // a new segment, all of it
	MissSplit         Label = "miss split"       // a new segment, cut
	MergeNone         Label = "merge none"       // a freed block has no free neighbour
	MergeLeft         Label = "merge left"       // it has one below
	MergeRight        Label = "merge right"      // it has one above
	MergeBoth         Label = "merge both"       // it has both
	FitRefused        Label = "fit refused"      // the best fit is too large for the request
	Collected         Label = "gc"               // garbage was collected for a request
	OversizeAllocated Label = "oversize release" // oversize blocks went for a request
	Retry             Label = "retry"            // a request was served after the whole cache went
	OutOfMemory       Label = "out of memory"
	TooLarge          Label = "out of memory at once"
	Overflow          Label = "overflow pool" // another pool served the default pool
	CallbackFreed     Label = "callback freed"
	Uncached          Label = "uncached"
	EventHeldBack     Label = "event held back" // a freed block waits for events
	EventCompleted    Label = "event completed" // such a block became free in a request
	KernelAcross      Label = "kernel across devices"
	CopyAcross        Label = "copy across devices"
	FreeDeferred      Label = "free deferred"  // a free was deferred
	DeferredHeld      Label = "deferred held"  // a deferred free waits for events
	DeferredFreed     Label = "deferred freed" // such a free was completed
	ReusedInGraph     Label = "reuse in capture"
	Mapped            Label = "map"              // a new expandable segment
	Grown             Label = "expandable grown" // one that had memory got more
	Unmapped          Label = "unmap"
	UnmapPartial      Label = "unmap partial"   // a segment lost pages and kept others
	SegmentDropped    Label = "segment dropped" // a segment lost its last page
	FromPool          Label = "from pool"       // a request was routed to a private pool
	PoolEmptied       Label = "pool emptied"    // a pool's memory went when it was deleted
	PoolForgotten     Label = "pool forgotten"
	NoSplitWhole      Label = "no split" // more than half a segment too much
	MallocCaptured    Label = "malloc in capture"
	RestoreFreed      Label = "restore freed"
	RestoreCreated    Label = "restore created"
	Waited            Label = "waited" // something waited for a held stream
)

// labelRule is a label and when it is met.
type labelRule struct {
	label Label
	met   func(o *observed) bool
}

var labelRules = []labelRule{
	{HitWhole, func(o *observed) bool { return o.hit() && o.count(spec.ActionFreeCompleted) == 0 && o.more() == 0 }},
	{HitSplit, func(o *observed) bool { return o.hit() && o.count(spec.ActionFreeCompleted) == 0 && o.more() == 1 }},
	{MissWhole, func(o *observed) bool {
		return o.malloc() && o.count(spec.ActionSegmentAlloc) == 1 && len(o.out.Entries) == 2 && o.more() == 1
	}},
	{MissSplit, func(o *observed) bool {
		return o.malloc() && o.count(spec.ActionSegmentAlloc) == 1 && len(o.out.Entries) == 2 && o.more() == 2
	}},
	{MergeNone, func(o *observed) bool { return o.merged(0, false) }},
	{MergeLeft, func(o *observed) bool { return o.merged(1, true) }},
	{MergeRight, func(o *observed) bool { return o.merged(1, false) }},
	{MergeBoth, func(o *observed) bool { return o.merged(2, true) }},
	{FitRefused, (*observed).refusedFit},
	{Collected, func(o *observed) bool {
		return o.op.Kind == trace.OpMalloc && o.count(spec.ActionSegmentFree) > 0 && o.retries() == 0 &&
			o.config.GarbageCollectionThreshold > 0 && o.config.MaxSplitSize == spec.Unlimited
	}},
	{OversizeAllocated, func(o *observed) bool {
		return o.op.Kind == trace.OpMalloc && o.count(spec.ActionSegmentFree) > 0 && o.retries() == 0 &&
			o.config.GarbageCollectionThreshold == 0 && o.config.MaxSplitSize != spec.Unlimited
	}},
	{Retry, func(o *observed) bool { return o.malloc() && o.retries() > 0 }},
	{OutOfMemory, func(o *observed) bool { return o.count(spec.ActionOOM) > 0 }},
	{TooLarge, func(o *observed) bool { return o.op.Size >= spec.EiB && o.out.Err != nil }},
	{Overflow, func(o *observed) bool {
		got := o.now.block(o.out.Ptr)
		return o.malloc() && !o.fromPool && got != nil && !got.pool.IsDefault()
	}},
	{CallbackFreed, func(o *observed) bool { return len(o.out.Freed) > 0 }},
	{Uncached, func(o *observed) bool { return o.malloc() && len(o.out.Entries) == 0 }},
	{EventHeldBack, func(o *observed) bool { return o.op.Kind == trace.OpFree && o.now.pending > o.before.pending }},
	{EventCompleted, func(o *observed) bool { return o.op.Kind == trace.OpMalloc && o.now.pending < o.before.pending }},
	{KernelAcross, func(o *observed) bool { return o.op.Kind == trace.OpKernel && o.across }},
	{CopyAcross, func(o *observed) bool { return o.op.Kind == trace.OpCopy && o.across }},
	{FreeDeferred, func(o *observed) bool { return o.op.Kind == trace.OpFree && o.now.deferred > o.before.deferred }},
	{DeferredHeld, func(o *observed) bool {
		return o.now.deferred < o.before.deferred && o.now.pending > o.before.pending
	}},
	{DeferredFreed, func(o *observed) bool {
		return o.now.deferred < o.before.deferred && !o.routed && o.count(spec.ActionFreeCompleted) > 0
	}},
	{ReusedInGraph, func(o *observed) bool {
		return o.op.Kind == trace.OpMalloc && o.routed && o.captured && o.now.deferred < o.before.deferred
	}},
	{Mapped, func(o *observed) bool { return len(o.now.growing) > len(o.before.growing) }},
	{Grown, func(o *observed) bool {
		before, now := o.mapped()
		return len(o.now.growing) == len(o.before.growing) && now > before && before > 0
	}},
	{Unmapped, func(o *observed) bool { return o.count(spec.ActionSegmentUnmap) > 0 }},
	{UnmapPartial, func(o *observed) bool {
		_, now := o.mapped()
		return o.count(spec.ActionSegmentUnmap) > 0 && len(o.now.growing) == len(o.before.growing) && now > 0
	}},
	{SegmentDropped, func(o *observed) bool { return len(o.now.growing) < len(o.before.growing) }},
	{FromPool, func(o *observed) bool { return o.malloc() && o.fromPool }},
	{PoolEmptied, func(o *observed) bool { return o.op.Kind == trace.OpPoolDelete && o.gaveMemory() }},
	{PoolForgotten, func(o *observed) bool { return o.now.pools < o.before.pools }},
	{NoSplitWhole, func(o *observed) bool {
		got := o.now.block(o.out.Ptr)
		return o.malloc() && o.fromPool && got != nil && got.kind == spec.SmallPool && got.size > 2*o.op.Size+spec.KiB
	}},
	{MallocCaptured, func(o *observed) bool { return o.malloc() && o.captured }},
	{RestoreFreed, func(o *observed) bool {
		return o.op.Kind == trace.OpRestore && o.out.Err == nil && o.count(spec.ActionFreeCompleted) > 0 && len(o.op.Freed) > 0
	}},
	{Waited, func(o *observed) bool {
		return o.waited && (o.op.Kind == trace.OpMalloc || o.op.Kind == trace.OpEmptyCache)
	}},
	{RestoreCreated, func(o *observed) bool { return o.op.Kind == trace.OpRestore && len(o.out.Restored.Created) > 0 }},
}

// AllLabels lists the labels there are.
func AllLabels() []Label {
	var labels []Label
	for _, r := range labelRules {
		labels = append(labels, r.label)
	}
	return labels
}
