package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/spec"
)

// Invariants: what is true of a caching allocator whenever no call is under way
// in it. They are the part of the contract that does not depend on how an
// allocator chooses its blocks, so that any allocator can be held to them.
//
// An invariant has a number, a name and a sentence. The number never changes and
// is never given to another one; the name is meant to be an operator of a TLA+
// specification too; a section of docs/invariants.md tells what goes wrong on a
// real GPU when it does not hold.
//
// # How they are checked
//
// An Observation holds what is known of an allocator at one moment. Not
// everything can be seen from everywhere: a snapshot shows no free lists, a
// picture of the present shows nothing of the past. An invariant says from which
// Sources it can be seen (Seen), and a Finding tells "holds" from "not
// observable", so that a report can say what was checked and what was not.
//
//	observe.go             Observation, and how to make one of an Allocator
//	observe_history.go     what the program did, without asking the allocator
//	observe_order.go       the order of its streams (spec/happensbefore), with events and captures
//	observe_trace.go       the history of a trace, operation by operation
//
//	walk.go                one pass over the blocks: 1 to 6, and the counts for 8
//	snapshot.go            that pass over a Snapshot, and 7
//	checker.go             that pass over an Inspector, without allocating memory
//	*.go                   the others, in files named after what they look at
//
// The checks trust nothing that they are shown: not the order, not that addresses
// make sense. They look at an allocator at rest. While another goroutine is inside
// it, statistics and blocks belong to different moments and prove nothing.

// Invariant is one of the rules.
type Invariant struct {
	Number   int
	Name     string // a CamelCase word
	Sentence string // what holds

	// Seen lists what the invariant can be seen from; each entry is sufficient.
	Seen []Sources
}

// Numbers of the invariants. A number is for life.
const (
	blocksTileSegments = iota + 1
	liveBlocksDisjoint
	noMergeableNeighbours
	sizesAndAlignment
	requestsFit
	activeBlocksAreMapped
	segmentFiguresAddUp
	accountingAddsUp
	figuresOverTimeAddUp
	freeListsHoldFreeBlocks
	heldBlocksAreAwaited
	poolsOwnTheirBlocks
	allocatedBlocksWereGivenOut
	noReuseWhileInUse
	capturedMemoryIsKept
	checkpointRestoresWhatItSaved
	nothingIsLost

	firstFreeNumber
)

// invariants is the list, in order of number.
var invariants = [...]Invariant{
	{
		blocksTileSegments, "BlocksTileSegments",
		"The blocks of a segment stand in order of address and fill it, without a gap and without overlap; they have its stream and its pool.",
		[]Sources{FromSnapshot, FromInspector},
	},
	{
		liveBlocksDisjoint, "LiveBlocksDisjoint",
		"No two segments of a device share a byte, and no two live allocations do.",
		[]Sources{FromSnapshot, FromInspector, FromHistory},
	},
	{
		noMergeableNeighbours, "NoMergeableNeighbours",
		"No two neighbouring blocks of a segment are both free, unless one of them has memory behind it and the other has not.",
		[]Sources{FromSnapshot, FromInspector},
	},
	{
		sizesAndAlignment, "SizesAndAlignment",
		"Blocks are whole multiples of MinBlock, and addresses are aligned for them; a segment of a small pool is SmallBuffer bytes, and one of a large pool has a size that a request above SmallSize leads to.",
		[]Sources{FromSnapshot, FromInspector},
	},
	{
		requestsFit, "RequestsFit",
		"A block in use has at least the bytes that were asked for; in a large pool it is larger than SmallSize, in a small pool it is at most SmallSize and no larger than rounding makes it, unless the pool does not split.",
		[]Sources{FromSnapshot, FromInspector},
	},
	{
		activeBlocksAreMapped, "ActiveBlocksAreMapped",
		"A block in use has memory behind it, and only blocks of expandable segments ever have none.",
		[]Sources{FromInspector},
	},
	{
		segmentFiguresAddUp, "SegmentFiguresAddUp",
		"The allocated, active and requested bytes of a segment are the sums over its blocks.",
		[]Sources{FromSnapshot},
	},
	{
		accountingAddsUp, "AccountingAddsUp",
		"Every current statistic, for small pools, large pools and all, is what a recount of segments and blocks gives.",
		[]Sources{FromStats | FromSnapshot, FromStats | FromInspector},
	},
	{
		figuresOverTimeAddUp, "FiguresOverTimeAddUp",
		"No statistic is negative or above its peak, what was added minus what was taken away is what is there, and all pools together are the small and the large ones.",
		[]Sources{FromStats},
	},
	{
		freeListsHoldFreeBlocks, "FreeListsHoldFreeBlocks",
		"The free lists hold exactly the free blocks and the lists of unmapped ranges exactly the unmapped ones, each once and in order.",
		[]Sources{FromInspector},
	},
	{
		heldBlocksAreAwaited, "HeldBlocksAreAwaited",
		"A freed block that streams still hold is waited for: by as many queued events as it counts, or by one deferred free; a block that is allocated waits for nothing.",
		[]Sources{FromInspector},
	},
	{
		poolsOwnTheirBlocks, "PoolsOwnTheirBlocks",
		"Every block belongs to a pool that the allocator knows, and a private pool is freeable exactly when its use count is zero.",
		[]Sources{FromInspector},
	},
	{
		allocatedBlocksWereGivenOut, "AllocatedBlocksWereGivenOut",
		"The allocated blocks are exactly those that the program was given and has not freed, each on the stream that it was asked for.",
		[]Sources{FromSnapshot | FromHistory},
	},
	{
		noReuseWhileInUse, "NoReuseWhileInUse",
		"Memory is not allocated again while work that used it may still run, unless that work is certain to be over before the work of the new owner begins.",
		[]Sources{FromHistory},
	},
	{
		capturedMemoryIsKept, "CapturedMemoryIsKept",
		"Memory that was allocated from a private pool during a capture stays in that pool until the use count of the pool is zero.",
		[]Sources{FromSnapshot | FromHistory},
	},
	{
		checkpointRestoresWhatItSaved, "CheckpointRestoresWhatItSaved",
		"After a restore the pool's saved segments have the saved blocks again, and nothing else in the pool is allocated.",
		[]Sources{FromSnapshot | FromRestore},
	},
	{
		nothingIsLost, "NothingIsLost",
		"What the driver has given and not got back is what the allocator says it holds, whichever driver calls failed.",
		[]Sources{FromDriver | FromStats, FromDriver | FromSnapshot},
	},
}

// All lists the invariants in order of number. The list is the caller's.
func All() []Invariant { return slices.Clone(invariants[:]) }

// Observable reports whether the observation has what it takes to see the
// invariant hold or fail.
func (inv Invariant) Observable(o *Observation) bool {
	has := o.Sources()
	return slices.ContainsFunc(inv.Seen, func(need Sources) bool { return has&need == need })
}

// Check looks at the observation for this invariant alone. Whoever wants to know
// about all of them asks Judge, which costs no more.
func (inv Invariant) Check(o *Observation) (Finding, error) {
	findings, err := Judge(o)
	if err != nil {
		return Finding{}, err
	}
	return findings[inv.Number-1], nil
}

// Verdict is what an observation says about an invariant.
type Verdict int

const (
	// NotObservable: the observation lacks what it takes. That is not a pass.
	NotObservable Verdict = iota
	// Holds: it was looked for and no violation was found.
	Holds
	// Broken: it does not hold.
	Broken
)

// String is the word for reports.
func (v Verdict) String() string {
	switch v {
	case Holds:
		return "holds"
	case Broken:
		return "broken"
	}
	return "not observable"
}

// Finding is what an observation says about one invariant.
type Finding struct {
	Invariant  Invariant
	Verdict    Verdict
	Violations []Violation // none unless Broken
}

// Violation is one place where an invariant does not hold.
type Violation struct {
	Number    int
	Invariant string // its name
	Device    spec.Device
	Address   spec.Ptr // of the block or segment in question; null if it is a statistic
	Sentence  string   // what was found, with addresses and sizes in bytes
}

// String is a line for reports.
func (v Violation) String() string {
	return fmt.Sprintf("%s (invariant %d, device %d): %s", v.Invariant, v.Number, v.Device, v.Sentence)
}

// Judge looks at an observation for every invariant and returns a finding for
// each, in order of number. The error is that of an Inspector that could not be
// asked, or of a geometry that makes no sense; then nothing is known.
func Judge(o *Observation) ([]Finding, error) {
	violations, err := CheckAll(o)
	if err != nil {
		return nil, err
	}
	findings := make([]Finding, 0, len(invariants))
	for _, inv := range invariants {
		f := Finding{Invariant: inv}
		for len(violations) > 0 && violations[0].Number == inv.Number {
			f.Violations = append(f.Violations, violations[0])
			violations = violations[1:]
		}
		switch {
		case len(f.Violations) > 0:
			f.Verdict = Broken
		case inv.Observable(o):
			f.Verdict = Holds
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// CheckAll returns every violation that the observation shows: by number of the
// invariant, then device, then address. No violations does not mean that all
// hold, see Judge. The error is as there.
func CheckAll(o *Observation) ([]Violation, error) {
	if err := o.Geometry.Validate(); err != nil {
		return nil, fmt.Errorf("observation: %w", err)
	}
	var r violationReport
	if o.Snapshot != nil {
		examineSnapshot(o, &r)
	}
	if o.Inspector != nil {
		if err := examineInspector(o, &r); err != nil {
			return nil, err
		}
	}
	examineFigures(o, &r)
	examineDriver(o, &r)
	if o.History != nil {
		o.History.examine(o, &r)
	}
	return r.list(), nil
}

// maxViolations is how many violations of one invariant are kept: the first few
// tell the story, and a broken allocator has thousands.
const maxViolations = 16

// violationReport collects violations.
type violationReport struct {
	found   []Violation
	kept    [firstFreeNumber]int
	dropped [firstFreeNumber]int
}

// add records a violation. Once there are many of the same invariant it only counts.
func (r *violationReport) add(number int, dev spec.Device, at spec.Ptr, format string, args ...any) {
	if r.kept[number] == maxViolations {
		r.dropped[number]++
		return
	}
	r.kept[number]++
	r.found = append(r.found, Violation{
		Number: number, Invariant: invariants[number-1].Name,
		Device: dev, Address: at, Sentence: fmt.Sprintf(format, args...),
	})
}

// list is what was found, in order. What two sources showed alike is there once.
func (r *violationReport) list() []Violation {
	slices.SortStableFunc(r.found, func(a, b Violation) int {
		return cmp.Or(
			cmp.Compare(a.Number, b.Number), cmp.Compare(a.Device, b.Device),
			cmp.Compare(a.Address, b.Address), strings.Compare(a.Sentence, b.Sentence))
	})
	list := slices.Compact(r.found)
	for i := len(list) - 1; i >= 0; i-- {
		if n := r.dropped[list[i].Number]; n > 0 {
			list[i].Sentence += fmt.Sprintf(" (%d more like this are not listed)", n)
			r.dropped[list[i].Number] = 0
		}
	}
	return list
}
