package torch

import (
	"errors"
	"slices"
	"strings"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/replay"
	"gaugeblock/tools/torch/edges"
	"gaugeblock/upstream"
)

// The deviations (upstream.Deviations) as rules. A rule is given the mismatch of the first
// difference of a program, and says whether its row, a deviation by its ID, explains it.

// The rows that do not end a program.
const (
	rowOrder        = "order/completed-streams"
	rowRestoreOrder = "order/restore"
)

// rowLostRange does not end a walk through the specification's states: see freeLostRanges.
const rowLostRange = "pools/range-lost"

const rowMappedRange = "checkpoints/mapped-to-end"

const rowErased = "pools/erased-with-memory"

const rowUnasked = "failures/unmap-unasked"

// A rule is a row with what recognises it.
type rule struct {
	row   string
	holds func(m *mismatch) bool
}

// rules are tried in this order.
var rules = []rule{
	{"pools/freeable-searched", func(m *mismatch) bool {
		return m.facts.useOnOOM && m.op.Kind == trace.OpMalloc && (m.says("already recording to mempool_id") || m.says("use_count > 0"))
	}},
	{"captures/invalidated", func(m *mismatch) bool {
		_, invalidated := errors.AsType[*spec.CaptureInvalidatedError](m.Difference.ours.Err)
		return m.op.Kind == trace.OpFree && (m.facts.refusedUses[m.op.ID] || invalidated && m.says("Invalid stream capture status"))
	}},
	{"captures/eager-use", func(m *mismatch) bool { return m.facts.eagerUse }},
	{"failures/event-record", (*mismatch).lostUses},
	{"captures/events-queried", func(m *mismatch) bool { return m.strict && m.cudaError(907) && m.op.Kind == trace.OpMalloc }},
	{"failures/event-query", func(m *mismatch) bool { return m.facts.queryFailed }},
	{"order/private-pools", (*mismatch).otherPool},
	{"captures/malloc-fails", func(m *mismatch) bool {
		return m.strict && m.cudaError(900) && m.op.Kind == trace.OpMalloc && !m.captured && !m.freesMemory()
	}},
	{"captures/memory-freed", func(m *mismatch) bool {
		return m.strict && (m.cudaError(900) || m.emptiedBeside())
	}},
	{"captures/unmap-synchronizes", func(m *mismatch) bool {
		expandable := func(s spec.Segment) bool { return s.Expandable }
		return m.facts.captures > 0 && m.cudaError(900) && slices.ContainsFunc(m.before.Segments, expandable)
	}},
	{"captures/unmap-synchronizes", (*mismatch).unmappedInCapture},
	{rowUnasked, (*mismatch).unasked},
	{"captures/reuse-unrouted", func(m *mismatch) bool {
		return m.config.GraphCaptureRecordStreamReuse && m.facts.captures > 0 &&
			(m.says("Could not find memory pool id for capture") || m.says("should not be capturing when the capture is ended") ||
				m.op.Kind == trace.OpPoolEnd && m.says("Invalid stream capture status"))
	}},
	{"captures/reuse-nodes", (*mismatch).addedNodes},
	{"captures/reuse-free-lost", func(m *mismatch) bool {
		return m.config.GraphCaptureRecordStreamReuse && (m.op.Kind == trace.OpFree || m.op.Kind == trace.OpMalloc) && m.says("INTERNAL ASSERT FAILED")
	}},
	{"checkpoints/used-block", func(m *mismatch) bool {
		return m.op.Kind == trace.OpRestore && m.refused("streams may still use") && m.Difference.theirs.Err == nil
	}},
	{"checkpoints/tested-late", func(m *mismatch) bool {
		return m.op.Kind == trace.OpRestore && m.Difference.ours.Err != nil && m.Difference.theirs.Err != nil
	}},
	{rowMappedRange, func(m *mismatch) bool {
		words := "Invalid expandable segment structure"
		if releaseNumber(&m.Header) < 211 {
			words = "Expected !curr_block->mapped to be true"
		}
		return m.op.Kind == trace.OpRestore && m.Difference.ours.Err == nil && m.says(words) && m.filled[devicePool{m.op.Device, m.op.Pool}]
	}},
	{"checkpoints/other-segment", func(m *mismatch) bool {
		return m.op.Kind == trace.OpRestore && m.Difference.theirs.Err == nil &&
			(m.refused("is of another stream than at the checkpoint") || m.refused("is another one than at the checkpoint"))
	}},
	{rowHandleAlone, (*mismatch).defaultStreams},
	{"expandable/unmap-current-device", func(m *mismatch) bool { return m.facts.strayed && m.completes() }},
	{rowRemembered, (*mismatch).rememberedUse},
	{rowErased, (*mismatch).forgottenPool},
	{rowLostRange, func(m *mismatch) bool {
		return m.Difference.lostRanges && m.Difference.What == "address" && m.op.Kind == trace.OpMalloc && len(m.facts.released) > 0
	}},
	{"misuse/unknown-pool-marked", (*mismatch).keptMark},
	{"order/deferred-frees", (*mismatch).otherObject},
	{"oversize/part-freed", (*mismatch).oversizePart},
	{"oversize/captured-pool", (*mismatch).oversizeCaptured},
}

// lostUses: an event could not be recorded, on a stream whose capture is invalidated. So PyTorch has lost the uses of
// what was freed; if the free was deferred it still is, and the next call that is to record its events fails.
func (m *mismatch) lostUses() bool {
	failed := m.refused("driver: RecordEvent")
	if m.op.Kind == trace.OpFree {
		return failed && m.cudaError(901)
	}
	return (failed || m.facts.recordFailed) && (m.Difference.What == "layout" || m.says("!block->stream_uses.empty()"))
}

// addedNodes: 2.9 has not reused a block, since its added nodes are not before all of the stream's last ones, or has asked
// for the nodes of a stream that is not captured; or it has reused one whose streams had nothing captured when it was
// freed; or a capture cannot end, since a node is on a stream that was not joined.
func (m *mismatch) addedNodes() bool {
	if m.Header.Release != "2.9" || !m.config.GraphCaptureRecordStreamReuse {
		return false
	}
	if m.op.Kind == trace.OpCaptureEnd {
		return m.cudaError(904)
	}
	if m.op.Kind != trace.OpMalloc || len(m.facts.begun) == 0 {
		return false
	}
	if m.says("status == cudaStreamCaptureStatusActive INTERNAL ASSERT FAILED") {
		return !m.captured
	}
	d := m.Difference
	return completedFrees(d.ours.Entries) > completedFrees(d.theirs.Entries) ||
		slices.ContainsFunc(d.theirs.Entries, func(e spec.TraceEntry) bool {
			return e.Action == spec.ActionFreeCompleted && m.unmarked[e.Addr]
		})
}

// otherObject: the order of frees has decided which Block object survives, and so a tie: what a malloc is served
// from, or which memory of the driver is freed first.
func (m *mismatch) otherObject() bool {
	if rulesOf(&m.Header).Ties != upstream.TiesByBlock || !m.facts.completed && completedFrees(m.Difference.ours.Entries) < 2 {
		return false
	}
	switch m.op.Kind {
	case trace.OpMalloc:
		return m.Difference.What == "address" || m.Difference.What == "trace entry" && m.freesMemory()
	case trace.OpEmptyCache:
		return m.Difference.What == "trace entry" && m.freesMemory() && m.reordered()
	}
	return false
}

// reordered: the two have done the same, in another order.
func (m *mismatch) reordered() bool {
	ours, theirs := slices.Clone(m.Difference.ours.Entries), slices.Clone(m.Difference.theirs.Entries)
	slices.SortFunc(ours, replay.CompareEntries)
	slices.SortFunc(theirs, replay.CompareEntries)
	return slices.Equal(ours, theirs)
}

// freesMemory reports whether PyTorch has freed memory of the driver in the operation, or tried to:
// it traces that before.
func (m *mismatch) freesMemory() bool {
	return slices.ContainsFunc(m.Difference.theirs.Entries, func(e spec.TraceEntry) bool {
		return e.Action == spec.ActionSegmentFree || e.Action == spec.ActionSegmentUnmap
	})
}

// The rows of driver calls that fail in the operation of the difference, by call.
var faultRows = map[string]string{
	"QueryEvent":       "failures/event-query",
	"SynchronizeEvent": "failures/event-query",
	"RecordEvent":      "failures/event-record",
	"Free":             "failures/free-counted",
	"CreatePage":       "failures/page-map",
	"SetAccess":        "failures/page-map",
	"FreeAddress":      "failures/address-free",
	"UnmapPage":        "failures/page-unmap",
}

// faultRow is the row of the driver call that was made to fail in the operation, which both say; ""
// if none was.
func (m *mismatch) faultRow() string {
	if n := len(m.Ops); n > 1 && m.Ops[n-2].Kind == trace.OpFault && (m.cudaError(999) || saysDriver(m.Difference.theirs.Err) || m.Difference.What == "crash") {
		return faultRows[m.Ops[n-2].Fault.Call]
	}
	return ""
}

// emptiedBeside: a thread whose current stream is not captured empties the cache, and PyTorch
// completes the frees that were deferred for the capture, or waits for an event that is recorded in it;
// the reference does nothing.
func (m *mismatch) emptiedBeside() bool {
	d := m.Difference
	if m.op.Kind != trace.OpEmptyCache || rulesOf(&m.Header).Captures != upstream.CapturesByMark || len(d.ours.Entries) > 0 {
		return false
	}
	return m.cudaError(907) || d.What == "trace entry" && completedFrees(d.theirs.Entries) == len(d.theirs.Entries)
}

// unmappedInCapture: in a walk through the specification's states (edges.go) a routed stream is one
// that is captured, which PyTorch's device does not know; so PyTorch has unmapped its pages.
func (m *mismatch) unmappedInCapture() bool {
	unmaps := func(e spec.TraceEntry) bool { return e.Action == spec.ActionSegmentUnmap }
	d := m.Difference
	return m.Scale != "" && len(m.facts.begun) > 0 && d.What == "trace entry" &&
		slices.ContainsFunc(d.theirs.Entries, unmaps) && !slices.ContainsFunc(d.ours.Entries, unmaps)
}

// unasked: the driver was to fail to say whether a stream is captured, and PyTorch has not asked.
func (m *mismatch) unasked() bool {
	n := len(m.Ops)
	asked := n > 1 && m.Ops[n-2].Kind == trace.OpFault && m.Ops[n-2].Fault.Call == "CaptureStatus"
	expandable := func(s spec.Segment) bool { return s.Expandable }
	uncaptured := rulesOf(&m.Header).Captures == upstream.CapturesByMark && len(m.facts.begun) > 0 && m.facts.captures == 0
	return asked && trace.ErrorName(m.Difference.ours.Err) == trace.ErrorDriver && !m.cudaError(999) &&
		(uncaptured || slices.ContainsFunc(m.before.Segments, expandable))
}

// keptMark: PyTorch has created a pool anew, since its mark was kept when it was erased: it has no
// uses, so that PyTorch refuses to create it.
func (m *mismatch) keptMark() bool {
	if !m.facts.released[m.op.Pool] || !m.facts.overflows[m.op.Pool] {
		return false
	}
	switch m.op.Kind {
	case trace.OpEmptyCache:
		return m.Difference.What == "num_sync_all_streams"
	case trace.OpPoolCreate:
		return m.says("use_count > 0") && !m.pools[devicePool{m.op.Device, m.op.Pool}]
	}
	return false
}

// says reports whether PyTorch's error does.
func (m *mismatch) says(text string) bool {
	err := m.Difference.theirs.Err
	return err != nil && strings.Contains(err.Error(), text)
}

// refused reports whether the reference's error says so.
func (m *mismatch) refused(text string) bool {
	err := m.Difference.ours.Err
	return err != nil && strings.Contains(err.Error(), text)
}

func (m *mismatch) cudaError(code int) bool {
	var driver *spec.DriverError
	return errors.As(m.Difference.theirs.Err, &driver) && driver.Code == code
}

// completes reports whether frees were completed in the operation, by either: that is how it
// shows that a stream has got further on one device than on the other.
func (m *mismatch) completes() bool {
	completed := func(e spec.TraceEntry) bool { return e.Action == spec.ActionFreeCompleted }
	d := m.Difference
	return slices.ContainsFunc(d.ours.Entries, completed) || slices.ContainsFunc(d.theirs.Entries, completed)
}

// defaultStreams: PyTorch has dropped the use of another device's default stream, and so
// does not wait for it when the memory is freed; the reference does, or still did before.
func (m *mismatch) defaultStreams() bool {
	if m.op.Kind == trace.OpFree && m.facts.default2[m.op.ID] {
		return true
	}
	return m.facts.waited2 && m.completes() || slices.ContainsFunc(m.facts.freed2, m.pending)
}

// pending reports whether the block that an address is in was freed and still used.
func (m *mismatch) pending(at spec.Ptr) bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		return slices.ContainsFunc(s.Blocks, func(b spec.Block) bool {
			return b.Address <= at && at < b.Address+spec.Ptr(b.Size) && b.State == spec.ActivePendingFree
		})
	})
}

// otherPool: PyTorch has served a request of the default pool from another of several pools
// that are marked use_on_oom, or emptied pools in another order.
func (m *mismatch) otherPool() bool {
	if m.Difference.What == "trace entry" {
		return m.poolsReordered()
	}
	if m.Difference.What != "address" || m.op.Kind != trace.OpMalloc {
		return false
	}
	pool := func(at spec.Ptr) (id spec.PoolID) {
		for _, s := range m.before.Segments {
			if s.Address <= at && at < s.Address+spec.Ptr(s.TotalSize) {
				id = s.Pool
			}
		}
		return id
	}
	a, b := pool(m.Difference.ours.Ptr), pool(m.Difference.theirs.Ptr)
	return a != b && m.facts.overflows[a] && m.facts.overflows[b]
}

// poolsReordered: two pools that were given up lie in one place of a table of four, the smallest.
func (m *mismatch) poolsReordered() bool {
	if !m.reordered() {
		return false
	}
	places := map[uint64]bool{}
	for id := range m.facts.released {
		place := poolHash(id) >> 62
		if places[place] {
			return true
		}
		places[place] = true
	}
	return false
}

// poolHash is what PyTorch's table of pools goes by.
func poolHash(id spec.PoolID) uint64 {
	const factor = 11400714819323198485
	if id.Capture != 0 {
		return id.Capture * factor
	}
	return id.User * factor
}

// rememberedUse: PyTorch has allocated, or completed the free of, memory that the reference
// still waits for, or has waited for before.
func (m *mismatch) rememberedUse() bool {
	if !m.facts.remembered {
		return false
	}
	if m.facts.waited && m.completes() {
		return true
	}
	d := m.Difference
	if d.What == "address" && m.pending(d.theirs.Ptr) {
		return true
	}
	return slices.ContainsFunc(d.theirs.Entries, func(e spec.TraceEntry) bool {
		return e.Action == spec.ActionFreeCompleted && m.pending(e.Addr)
	})
}

// forgottenPool: PyTorch has given up a pool some of whose expandable memory is active.
func (m *mismatch) forgottenPool() bool {
	if m.says("cudaMalloc_count > 0") {
		return true
	}
	if m.Difference.What == "crash" || m.Difference.What == "hang" {
		return m.facts.erased.ends(m)
	}
	erased := func(id spec.PoolID) bool {
		return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
			return s.Expandable && s.Pool == id && (m.facts.erased.has(s.Address) || s.ActiveSize > 0 && m.unmapsOf(id))
		})
	}
	return slices.ContainsFunc(m.Ops, func(op trace.Op) bool {
		return (op.Kind == trace.OpPoolDelete || op.Kind == trace.OpPoolRelease) && erased(op.Pool)
	})
}

// unmapsOf reports whether pages of a pool were unmapped in the operation, by either: its count
// falls.
func (m *mismatch) unmapsOf(id spec.PoolID) bool {
	unmaps := func(e spec.TraceEntry) bool {
		return e.Action == spec.ActionSegmentUnmap && slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
			return s.Pool == id && s.Address <= e.Addr && e.Addr < s.Address+spec.Ptr(s.TotalSize)
		})
	}
	return slices.ContainsFunc(m.Difference.ours.Entries, unmaps) || slices.ContainsFunc(m.Difference.theirs.Entries, unmaps)
}

// oversizePart: PyTorch has given a part of a segment to cudaFree, or tried to.
func (m *mismatch) oversizePart() bool {
	if m.op.Kind != trace.OpMalloc || m.config.MaxSplitSize == spec.Unlimited || !m.oversizeSplit() {
		return false
	}
	if m.cudaError(1) || m.Difference.What == "message, free" {
		return true
	}
	for _, e := range m.Difference.theirs.Entries {
		if e.Action == spec.ActionSegmentFree && !m.wholeSegment(e.Addr, e.Size) {
			return true
		}
	}
	return false
}

// oversizeSplit reports whether there is memory that is free, or becomes so in the operation,
// that is oversize, and only a part of its segment.
func (m *mismatch) oversizeSplit() bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		run := uint64(0)
		for _, b := range s.Blocks {
			run += b.Size
			if b.State == spec.ActiveAllocated && len(m.Difference.ours.Freed) == 0 { // by a callback
				run = 0
			}
			if run >= m.config.MaxSplitSize && !s.Expandable && len(s.Blocks) > 1 {
				return true
			}
		}
		return false
	})
}

func (m *mismatch) wholeSegment(at spec.Ptr, size uint64) bool {
	return slices.ContainsFunc(m.before.Segments, func(s spec.Segment) bool {
		return s.Address == at && s.TotalSize == size && len(s.Blocks) == 1
	})
}

// oversizeCaptured: PyTorch has released a segment of a pool that a graph was captured with.
func (m *mismatch) oversizeCaptured() bool {
	if m.op.Kind != trace.OpMalloc || m.config.MaxSplitSize == spec.Unlimited {
		return false
	}
	return slices.ContainsFunc(m.Difference.theirs.Entries, func(e spec.TraceEntry) bool {
		if e.Action != spec.ActionSegmentFree {
			return false
		}
		released := func(s spec.Segment) bool { return s.Address == e.Addr && m.facts.capturePool[s.Pool] }
		return slices.ContainsFunc(m.before.Segments, released)
	})
}

// explain finds the row of a difference; "" if none explains it. Where a malloc has steps the
// program cannot be performed again, and only the rows of driver calls that fail are known.
func explain(o *Outcome) (string, error) {
	if scale := edges.Find(o.Scale); scale != nil && scale.TwoStep {
		m := mismatch{Outcome: o, op: &o.Ops[len(o.Ops)-1]}
		if o.Difference.hazard != nil {
			return "", nil
		}
		return m.faultRow(), nil
	}
	m, err := before(o)
	if err != nil {
		return "", err
	}
	if row := m.faultRow(); row != "" && o.Difference.hazard == nil {
		return row, nil
	}
	which := rules
	if o.Difference.hazard != nil {
		which = hazardRules
		if m.same != nil {
			o.Difference.Reference = m.same.String()
		}
	}
	for _, r := range which {
		if r.holds(m) {
			return r.row, nil
		}
	}
	return "", nil
}
