package torch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
	binary "gaugeblock/tools/torch/binary"
)

// A Pair is the reference and PyTorch's allocator, each on a fake device of its own. Equal
// devices give equal addresses for equal requests, so whatever the two do can be compared
// as it is.
type Pair struct {
	header    trace.Header
	reference *perform.Player
	pytorch   *perform.Player
	latest    latestStats // PyTorch's allocator
	steps     int
	every     int // how many operations lie between two looks at the whole layout

	// Listed counts what is a deviation and does not end a program: see
	// reorder.
	Listed map[string]int
	stale  bool // what was last requested of a block that is free may differ

	lifetimes *conformance.Lifetimes // of the memory on PyTorch's device; nil: no hazards are looked for

	answered, did perform.Result // what the reference and PyTorch's allocator did in the latest operation

	ours, theirs []spec.TraceEntry // room
}

// latestStats is what PyTorch's allocator has for those who ask for figures after every
// operation.
type latestStats interface {
	StatsWithCalls(spec.Device)
	LatestStats(spec.Device) (*spec.DeviceStats, error)
}

// A Difference is where the two first did different things.
type Difference struct {
	Operation int    // from 1
	Op        string // in words
	What      string // what differs: "error", "message", "address", "trace entry", "layout", the kind of a hazard, or the name of a figure
	Reference string
	PyTorch   string

	ours, theirs perform.Result
	hazard       *fakegpu.Hazard // on PyTorch's device
	lostRanges   bool            // PyTorch has reserved more ranges of addresses
}

func (d *Difference) Error() string {
	return fmt.Sprintf("operation %d, %s: %s: the reference has %s, PyTorch %s", d.Operation, d.Op, d.What, d.Reference, d.PyTorch)
}

// NewPair sets both up with what the header asks for.
func NewPair(h trace.Header, every int) (*Pair, error) { return newPairOn(h, every, nil, nil, nil) }

// newReference makes the reference. A test makes mistakes in it.
var newReference perform.Factory = reference.New

// newPairOn does so on changed hardware, with something around the reference's device.
func newPairOn(h trace.Header, every int, our perform.Hardware, around perform.Around, their perform.Hardware) (*Pair, error) {
	return newPairOf(h, every, newReference, our, around, their)
}

// newPairOf does so with the reference as a function makes it.
func newPairOf(h trace.Header, every int, factory perform.Factory, our perform.Hardware, around perform.Around, their perform.Hardware) (*Pair, error) {
	h.Release = cmp.Or(loadedRelease(), h.Release)
	ours, err := perform.NewOn(&h, factory, our, around)
	if err != nil {
		return nil, err
	}
	theirs, err := perform.NewOn(&h, newPyTorch, their, nil)
	if err != nil {
		return nil, err
	}
	latest := theirs.Allocator().(latestStats)
	if h.Devices == 1 {
		latest.StatsWithCalls(0)
	}
	for _, player := range []*perform.Player{ours, theirs} {
		player.Reuse()
		player.GPU().WithoutEffects() // nobody looks at what memory holds
	}
	return &Pair{header: h, reference: ours, pytorch: theirs, latest: latest, every: max(every, 1), Listed: map[string]int{}}, nil
}

// Step performs an operation on both. What the reference answered is returned for those who
// keep account of the program; it is good until the next step.
func (p *Pair) Step(op *trace.Op) (*perform.Result, *Difference) {
	p.steps++
	p.answered = p.reference.Perform(op)
	watched(p.pytorch, p.lifetimes, op, &p.did)
	what, our, their := p.compare(op, &p.answered, &p.did)
	var hazard *fakegpu.Hazard
	if what == "" {
		if hazard = p.hazard(); hazard == nil {
			return &p.answered, nil
		}
		what, our, their = "hazard, "+hazard.Kind.String(), "none", hazard.String()
	}
	d := &Difference{Operation: p.steps, Op: op.InWords(), What: what, Reference: our, PyTorch: their, ours: p.answered, theirs: p.did, hazard: hazard}
	d.lostRanges = reservedRanges(p.pytorch) > reservedRanges(p.reference)
	return &p.answered, d
}

// reservedRanges is how many ranges of addresses are reserved on a player's device.
func reservedRanges(p *perform.Player) (n int) {
	for _, leak := range p.Leaks() {
		if strings.HasPrefix(leak, "reserved range") {
			n++
		}
	}
	return n
}

// figureNames are the keys of the figures that a record has.
var figureNames = func() (names []string) {
	new(spec.DeviceStats).Each(func(key string, _ int64) { names = append(names, key) })
	return names
}()

// record adds what PyTorch's allocator did in the latest operation to it, as what a replay expects.
func (p *Pair) record(op *trace.Op) {
	if p.did.Skipped {
		return
	}
	e := &op.Expect
	e.Error = trace.ErrorName(p.did.Err)
	e.Entries = append([]spec.TraceEntry{}, p.did.Entries...)
	e.AddressRanges = p.did.AddressRanges
	if op.Kind == trace.OpMalloc && p.did.Err == nil {
		at := p.did.Ptr
		e.Addr = &at
	}
	var full *binary.OutOfMemory
	if errors.As(p.did.Err, &full) {
		e.Message = full.Message
	}
	if figures, err := p.pytorch.Allocator().Stats(op.Device); err == nil {
		e.Stats = nil
		figures.Each(func(_ string, v int64) { e.Stats = append(e.Stats, v) })
	}
}

// ofDevice reports whether no allocator is called in operations of a kind.
func ofDevice(kind trace.OpKind) bool {
	switch kind {
	case trace.OpBusy, trace.OpDrain, trace.OpKernel, trace.OpCopy, trace.OpWaitStream,
		trace.OpRecordEvent, trace.OpWaitEvent, trace.OpSynchronize, trace.OpDeviceFree,
		trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpGraphLaunch, trace.OpGraphDestroy:
		return true
	}
	return false
}

// compare names the first thing that differs, in the order in which a reader would look for
// a cause.
func (p *Pair) compare(op *trace.Op, ours, theirs *perform.Result) (what, our, their string) {
	if what, our, their = compareErrors(ours.Err, theirs.Err); what != "" {
		return what, our, their
	}
	if ours.Err != nil {
		if what, our, their = p.compareRemark(ours.Err, theirs.Err); what != "" {
			return what, our, their
		}
	}
	if ofDevice(op.Kind) && len(ours.Entries)+len(theirs.Entries) == 0 && p.steps%p.every != 0 {
		return "", "", "" // neither allocator was called
	}
	if ours.Ptr != theirs.Ptr {
		return "address", ours.Ptr.String(), theirs.Ptr.String()
	}
	reordered, what, our, their := p.compareEntries(op, ours.Entries, theirs.Entries)
	if what != "" {
		return what, our, their
	}
	if reordered || op.Kind == trace.OpRestore {
		if what, our, their = p.reorder(op, ours.Err == nil); what != "" {
			return what, our, their
		}
	} else if what, our, their = p.compareFigures(op.Device, false); what != "" {
		return what, our, their
	}
	if p.steps%p.every == 0 || op.Kind == trace.OpRestore && p.steps%4 == 0 {
		return p.CompareLayouts()
	}
	return "", "", ""
}

// reorder goes on behind an operation in which the two did the same in another order, which
// PyTorch takes from a hash table. Peaks and sums of the figures may differ then, and so may
// what was last requested of a block that has merged; the figures begin anew on both sides,
// and all that holds now is compared as ever.
func (p *Pair) reorder(op *trace.Op, done bool) (what, our, their string) {
	if what, our, their = p.compareFigures(op.Device, true); what != "" {
		return what, our, their
	}
	if !done && op.Kind == trace.OpRestore { // it was refused and has changed nothing
		return p.compareFigures(op.Device, false)
	}
	row := rowOrder
	if op.Kind == trace.OpRestore {
		row = rowRestoreOrder
	}
	p.stale = true
	p.Listed[row]++
	for dev := range p.header.Devices {
		for _, player := range []*perform.Player{p.reference, p.pytorch} {
			r := player.Allocator().(spec.StatsResetter)
			if err := errors.Join(r.ResetPeakStats(spec.Device(dev)), r.ResetAccumulatedStats(spec.Device(dev))); err != nil {
				return "figures", "a new beginning", err.Error()
			}
		}
	}
	return "", "", ""
}

// compareErrors: PyTorch has one type for all misuse.
func compareErrors(ours, theirs error) (what, our, their string) {
	if ours == nil && theirs == nil {
		return "", "", ""
	}
	a, b := errorClass(ours), errorClass(theirs)
	if b == "refused" && saysDriver(theirs) {
		b = trace.ErrorDriver
	}
	if a != b {
		return "error", inWords(ours), inWords(theirs)
	}
	if full, is := errors.AsType[*binary.OutOfMemory](theirs); is {
		figures, is := errors.AsType[*spec.OutOfMemoryError](ours)
		if is && !tells(full.Message, figures) {
			what, want, got := replay.CompareMessage(full.Message, figures)
			return cmp.Or(what, "message"), cmp.Or(got, figures.Error()), cmp.Or(want, full.Message)
		}
		return "", "", ""
	}
	ourDriver, isOurs := errors.AsType[*spec.DriverError](ours)
	theirDriver, isTheirs := errors.AsType[*spec.DriverError](theirs)
	if isOurs && isTheirs && ourDriver.Code != theirDriver.Code {
		return "error", inWords(ours), inWords(theirs)
	}
	return "", "", ""
}

// tells reports whether PyTorch's message says what the reference's error does: the sizes
// that it has, in its words.
func tells(message string, e *spec.OutOfMemoryError) bool {
	if e.SegmentSize == 0 {
		return strings.Contains(message, "more than 1EB memory")
	}
	has := func(told bool, before string, bytes uint64, behind string) bool {
		if !told {
			return !strings.Contains(message, behind)
		}
		size := spec.FormatSize(bytes)
		for rest, found := message, true; found; {
			if _, rest, found = strings.Cut(rest, before); found && strings.HasPrefix(rest, size) && strings.HasPrefix(rest[len(size):], behind) {
				return true
			}
		}
		return false
	}
	return has(true, "Tried to allocate ", e.SegmentSize, ". ") &&
		has(true, "has a total capacity of ", e.DeviceTotal, " of which ") &&
		has(true, " of which ", e.DeviceFree, " is free") &&
		has(e.Limited, " ", e.Limit, " allowed; ") &&
		has(true, "Of the allocated memory ", e.Allocated, " is allocated by PyTorch") &&
		has(e.PrivatePools > 0, "with ", e.PrivatePools, " allocated in private pools") &&
		has(true, "and ", e.Unallocated, " is reserved by PyTorch but unallocated")
}

// The remarks of a message of running out of memory, by what they begin with.
const (
	remarkFragments = "If reserved but unallocated memory is large try setting"
	remarkAddresses = "expandable_segments is enabled. If instead the process is running out of virtual address space"
	remarkReserve   = "This allocation exceeds the expandable-segment reserve of"
)

// compareRemark compares what a message of running out of memory advises: with expandable segments nothing in 2.14, and
// since 2.15 something about their addresses.
func (p *Pair) compareRemark(ours, theirs error) (what, our, their string) {
	e, is := errors.AsType[*spec.OutOfMemoryError](ours)
	full, both := errors.AsType[*binary.OutOfMemory](theirs)
	if !is || !both || e.SegmentSize == 0 || e.Rejected {
		return "", "", ""
	}
	want := remarkFragments
	if config := p.reference.Allocator().(spec.Configurer).Config(); config.ExpandableSegments {
		switch {
		case p.header.Release == "2.14":
			want = ""
		case !rulesOf(&p.header).Settings.Has("expandable_segments_reserve"):
		case config.Reserve != (spec.Reserve{}) && e.SegmentSize > config.Reserve.Of(e.DeviceTotal):
			want = remarkReserve
		default:
			want = remarkAddresses
		}
	}
	var said []string
	for _, remark := range []string{remarkFragments, remarkAddresses, remarkReserve} {
		if strings.Contains(full.Message, remark) {
			said = append(said, remark)
		}
	}
	if got := strings.Join(said, "; "); got != want {
		return "remark", want, got
	}
	return "", "", ""
}

// saysDriver reports whether PyTorch has an error of the driver's interface. It keeps no number of
// it.
func saysDriver(err error) bool {
	return err != nil && strings.Contains(err.Error(), "CUDA driver error: ")
}

func errorClass(err error) string {
	switch name := trace.ErrorName(err); name {
	case trace.ErrorInvalidArgument, trace.ErrorInvalidPointer, trace.ErrorInvalidState, trace.ErrorOther:
		return "refused"
	default:
		return name
	}
}

func inWords(err error) string {
	if err == nil {
		return "success"
	}
	return fmt.Sprintf("%s (%v)", trace.ErrorName(err), err)
}

// compareEntries: which of several streams' frees complete first depends on the hash of
// streams; a restore walks a hash table of heap addresses.
func (p *Pair) compareEntries(op *trace.Op, ours, theirs []spec.TraceEntry) (reordered bool, what, our, their string) {
	if slices.Equal(ours, theirs) {
		return false, "", "", ""
	}
	p.ours, p.theirs = append(p.ours[:0], ours...), append(p.theirs[:0], theirs...)
	if op.Kind == trace.OpRestore {
		slices.SortFunc(p.ours, replay.CompareEntries)
		slices.SortFunc(p.theirs, replay.CompareEntries)
	} else {
		replay.SortFrees(p.ours)
		replay.SortFrees(p.theirs)
	}
	same := 0
	for same < len(p.ours) && same < len(p.theirs) && p.ours[same] == p.theirs[same] {
		same++
	}
	if same < len(p.ours) || same < len(p.theirs) {
		return false, "trace entry", entry(p.ours, same), entry(p.theirs, same)
	}
	return true, "", "", ""
}

func entry(entries []spec.TraceEntry, i int) string {
	if i >= len(entries) {
		return fmt.Sprintf("no more than %d", len(entries))
	}
	return trace.EntryInWords(entries[i])
}

// compareFigures compares the figures of a device; only those of the present if they are
// asked for.
func (p *Pair) compareFigures(dev spec.Device, present bool) (what, our, their string) {
	a, err := p.reference.Allocator().Stats(dev)
	if err != nil {
		return "figures", err.Error(), "figures"
	}
	b, err := p.latest.LatestStats(dev)
	if err != nil {
		return "figures", "figures", err.Error()
	}
	if a == *b {
		return "", "", ""
	}
	return firstFigure(a, *b, present)
}

// firstFigure names the first figure that differs.
func firstFigure(a, b spec.DeviceStats, present bool) (what, our, their string) {
	var values []int64
	b.Each(func(_ string, v int64) { values = append(values, v) })
	i := 0
	a.Each(func(key string, v int64) {
		if what == "" && v != values[i] && !(present && isHistory(key)) {
			what, our, their = key, fmt.Sprint(v), fmt.Sprint(values[i])
		}
		i++
	})
	return what, our, their
}

// CompareLayouts compares all memory that the two hold.
func (p *Pair) CompareLayouts() (what, our, their string) {
	a, err := p.reference.Allocator().Snapshot()
	if err != nil {
		return "layout", err.Error(), "a snapshot"
	}
	b, err := p.pytorch.Allocator().Snapshot()
	if err != nil {
		return "layout", "a snapshot", err.Error()
	}
	same := sameSegment
	if p.stale {
		same = sameButRequests
	}
	if slices.EqualFunc(a.Segments, b.Segments, same) {
		return "", "", ""
	}
	ours, theirs := trace.Layout(&a), trace.Layout(&b)
	if p.stale {
		forgetRequests(ours)
		forgetRequests(theirs)
	}
	return replay.CompareLayouts(ours, theirs)
}

// sameSegment reports whether two segments are alike in all but their contexts.
func sameSegment(a, b spec.Segment) bool {
	return sameShape(&a, &b) && slices.EqualFunc(a.Blocks, b.Blocks, func(a, b spec.Block) bool {
		return a.Address == b.Address && a.Size == b.Size && a.RequestedSize == b.RequestedSize && a.State == b.State
	})
}

// sameButRequests does so whatever was last requested of blocks that are free.
func sameButRequests(a, b spec.Segment) bool {
	return sameShape(&a, &b) && slices.EqualFunc(a.Blocks, b.Blocks, func(a, b spec.Block) bool {
		return a.Address == b.Address && a.Size == b.Size && a.State == b.State && (a.RequestedSize == b.RequestedSize || a.State == spec.Inactive)
	})
}

// sameShape is sameSegment without the blocks.
func sameShape(a, b *spec.Segment) bool {
	return a.Device == b.Device && a.Address == b.Address && a.TotalSize == b.TotalSize && a.Stream == b.Stream &&
		a.Pool == b.Pool && a.PoolKind == b.PoolKind && a.Expandable == b.Expandable &&
		a.AllocatedSize == b.AllocatedSize && a.ActiveSize == b.ActiveSize && a.RequestedSize == b.RequestedSize
}

// forgetRequests takes away what was last requested of blocks that are free.
func forgetRequests(layout []spec.Segment) {
	for i := range layout {
		for j := range layout[i].Blocks {
			if b := &layout[i].Blocks[j]; b.State == spec.Inactive {
				b.RequestedSize = 0
			}
		}
	}
}

// isHistory reports whether a figure tells of the past.
func isHistory(key string) bool {
	return strings.HasSuffix(key, ".peak") || strings.HasSuffix(key, ".allocated") || strings.HasSuffix(key, ".freed")
}
