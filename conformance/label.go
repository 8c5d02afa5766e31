package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Labels say what a program has led an allocator to do. They are seen from outside:
// in the trace entries, the statistics and the blocks before and after an operation.
// A search that has not met all labels of its area has not searched, so it goes on,
// and fails in the end.

// Label names something that an allocator does.
type Label string

// Coverage counts how often labels were met. Kinds of operation that succeeded
// count as well, by "op " and their name.
type Coverage map[Label]int

// Add counts what another one has met.
func (c Coverage) Add(o Coverage) {
	for label, n := range o {
		c[label] += n
	}
}

// Missing lists those of the labels that were not met.
func (c Coverage) Missing(labels []Label) []Label {
	var missing []Label
	for _, l := range labels {
		if c[l] == 0 {
			missing = append(missing, l)
		}
	}
	return missing
}

// String lists the labels that were met, by name, and how often.
func (c Coverage) String() string {
	var b strings.Builder
	for i, label := range slices.Sorted(maps.Keys(c)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", label, c[label])
	}
	return b.String()
}

// observed is an operation with what was seen before and after it.
type observed struct {
	op       *trace.Op
	out      *perform.Result
	before   *visibleState // of the operation's device
	now      *visibleState
	captured bool // the operation's stream was, before it
	routed   bool // requests of the device were routed to a pool, before it
	fromPool bool // this request was
	across   bool // the work touches memory of another device than its stream's
	waited   bool // streams that were held have come to their end meanwhile
	config   spec.Config
}

// count is how many of the trace entries have the action.
func (o *observed) count(a spec.Action) int {
	n := 0
	for _, e := range o.out.Entries {
		if e.Action == a {
			n++
		}
	}
	return n
}

func (o *observed) malloc() bool {
	return o.op.Kind == trace.OpMalloc && o.out.Err == nil && o.out.Ptr != 0
}

// hit: served without asking the driver for anything, or giving it anything.
func (o *observed) hit() bool {
	return o.malloc() && o.count(spec.ActionAlloc) == 1 && !o.tookMemory() && !o.gaveMemory()
}

func (o *observed) tookMemory() bool {
	return o.count(spec.ActionSegmentAlloc)+o.count(spec.ActionSegmentMap) > 0
}

func (o *observed) gaveMemory() bool {
	return o.count(spec.ActionSegmentFree)+o.count(spec.ActionSegmentUnmap) > 0
}

// more is the change in the number of blocks.
func (o *observed) more() int { return len(o.now.blocks) - len(o.before.blocks) }

// freedOne is where the block was whose free an operation requested and completed,
// if that is all that it did.
func (o *observed) freedOne() (at spec.Ptr, ok bool) {
	if o.op.Kind != trace.OpFree || len(o.out.Entries) != 2 || o.out.Entries[1].Action != spec.ActionFreeCompleted {
		return 0, false
	}
	return o.out.Entries[1].Addr, true
}

// merged reports whether the one free merged the block with n neighbours, and
// with the one below it.
func (o *observed) merged(neighbours int, below bool) bool {
	at, ok := o.freedOne()
	return ok && o.more() == -neighbours && (o.now.block(at) == nil) == below
}

// refusedFit: something was asked of the driver although a free block of the same
// stream and pool was as large as what was then allocated.
func (o *observed) refusedFit() bool {
	if !o.malloc() || o.count(spec.ActionSegmentAlloc) != 1 || o.gaveMemory() {
		return false
	}
	got := o.now.block(o.out.Ptr)
	return got != nil && slices.ContainsFunc(o.before.blocks, func(b seenBlock) bool {
		return b.state == spec.Inactive && b.stream == got.stream && b.pool == got.pool &&
			b.kind == got.kind && b.size >= got.size
	})
}

// retries is how many times everything cached was returned to the driver for a request.
func (o *observed) retries() int64 {
	return o.now.stats.NumAllocRetries - o.before.stats.NumAllocRetries
}

// mapped is the bytes behind expandable segments, before and after.
func (o *observed) mapped() (before, now uint64) {
	for _, g := range o.before.growing {
		before += g.Mapped
	}
	for _, g := range o.now.growing {
		now += g.Mapped
	}
	return before, now
}

// cover counts what the operation met.
func (t *Trial) cover(op *trace.Op, out *perform.Result, captured bool) {
	if out.Skipped {
		return
	}
	if out.Err == nil {
		t.labels[Label("op "+op.Kind)]++
	} else if op.Expect.Error != "" {
		t.labels[Label("refused "+op.Kind)]++
	}
	o := observed{
		op: op, out: out, before: &t.before[op.Device], now: &t.now[op.Device],
		captured: captured, routed: t.program.routed(op.Device), waited: len(t.drained) > 0,
	}
	o.across = slices.ContainsFunc(t.program.ranges(op), func(m *memory) bool { return m != nil && m.device != op.Device })
	if op.Kind == trace.OpMalloc {
		o.fromPool = t.program.poolFor(op) != nil
	}
	if configurer, able := t.player.Allocator().(spec.Configurer); able {
		o.config = configurer.Config()
	}
	for i := range labelRules {
		if labelRules[i].met(&o) {
			t.labels[labelRules[i].label]++
		}
	}
}
