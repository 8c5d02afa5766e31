package torch

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/internal/kept"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// random makes mismatches that no program has made: few places, pools and streams, so that much meets by chance.
type random struct{ *rand.Rand }

func (r random) bool() bool { return r.IntN(2) == 0 }

func pick[T any](r random, of ...T) T { return of[r.IntN(len(of))] }

func (r random) place() spec.Ptr { return spec.Ptr(0x1000 + 0x200*r.IntN(8)) }

func (r random) pool() spec.PoolID {
	return pick(r, spec.PoolID{}, spec.PoolID{User: 1}, spec.PoolID{User: 2}, spec.PoolID{User: 5}, spec.PoolID{Capture: 1}, spec.PoolID{Capture: 5})
}

func (r random) on() spec.DeviceStream {
	return spec.DeviceStream{Device: spec.Device(r.IntN(2)), Stream: pick[spec.Stream](r, 0, 16)}
}

// some are a few of what a function draws.
func some[K comparable](r random, draw func() K) map[K]bool {
	set := map[K]bool{}
	for range r.IntN(4) {
		set[draw()] = true
	}
	return set
}

func (r random) id() int64 { return int64(r.IntN(3)) }

func (r random) entries() (list []spec.TraceEntry) {
	for range r.IntN(3) {
		action := pick(r, spec.ActionFreeCompleted, spec.ActionFreeCompleted, spec.ActionSegmentFree, spec.ActionSegmentUnmap, spec.ActionAlloc)
		list = append(list, spec.TraceEntry{Action: action, Addr: r.place(), Size: uint64(512 << r.IntN(3))})
	}
	return list
}

// segments are one behind the other.
func (r random) segments() (list []spec.Segment) {
	for at := spec.Ptr(0x1000); at < 0x2000 && r.IntN(4) > 0; {
		s := spec.Segment{Address: at, Expandable: r.IntN(3) == 0, Pool: r.pool()}
		for range 1 + r.IntN(3) {
			b := spec.Block{Address: at, Size: 512 * uint64(1+r.IntN(2)), State: pick(r, spec.Inactive, spec.ActiveAllocated, spec.ActivePendingFree)}
			at += spec.Ptr(b.Size)
			if s.TotalSize += b.Size; b.State != spec.Inactive {
				s.ActiveSize += b.Size
			}
			s.Blocks = append(s.Blocks, b)
		}
		list = append(list, s)
	}
	return list
}

// said is what PyTorch says in the rules.
var said = []string{
	"already recording to mempool_id", "use_count > 0", "Invalid stream capture status", "Could not find memory pool id for capture", "should not be capturing when the capture is ended",
	"INTERNAL ASSERT FAILED", "status == cudaStreamCaptureStatusActive INTERNAL ASSERT FAILED", "Invalid expandable segment structure", "Expected !curr_block->mapped to be true",
	"!block->stream_uses.empty()", "cudaMalloc_count > 0", "CUDA driver error: 1",
}

func (r random) theirError() error {
	switch r.IntN(4) {
	case 0:
		return nil
	case 1:
		return &spec.DriverError{Call: "Malloc", Code: pick(r, 1, 900, 901, 904, 907, 999)}
	case 2:
		return &binary.OutOfMemory{Message: "Tried to allocate"}
	}
	return &binary.Refusal{Message: pick(r, said...)}
}

func (r random) ourError() error {
	switch r.IntN(6) {
	case 0, 1, 2:
		return nil
	case 3:
		return &spec.CaptureInvalidatedError{}
	case 4:
		return &spec.DriverError{Call: pick(r, "RecordEvent", "QueryEvent"), Code: pick(r, 901, 907, 999)}
	}
	return errors.New(pick(r, "streams may still use", "is of another stream than at the checkpoint", "is another one than at the checkpoint", "no"))
}

func (r random) access() *fakegpu.Access {
	if r.IntN(6) == 0 {
		return nil
	}
	a := &fakegpu.Access{Lifetime: fakegpu.Lifetime{Range: spec.Range{Ptr: r.place(), Bytes: 512}}}
	first, second := r.on(), r.on()
	a.Device, a.Stream, a.Lifetime.Device, a.Lifetime.Stream = first.Device, first.Stream, second.Device, second.Stream
	return a
}

func (r random) mismatch() *mismatch {
	kinds := []trace.OpKind{
		trace.OpMalloc, trace.OpMalloc, trace.OpMalloc, trace.OpMalloc, trace.OpFree, trace.OpFree, trace.OpRestore, trace.OpRestore, trace.OpRestore, trace.OpEmptyCache, trace.OpPoolCreate, trace.OpPoolCreate, trace.OpPoolDelete, trace.OpPoolRelease, trace.OpPoolEnd, trace.OpCaptureEnd, trace.OpKernel, trace.OpCheckpoint,
	}
	o := &Outcome{Every: r.IntN(3), Scale: pick(r, "", "", "core")}
	o.Header = trace.Header{Devices: 2, Release: pick(r, "2.9", "2.10", "2.12", "2.13"), Streams: []spec.Stream{0, 16}}
	for range 1 + r.IntN(2) {
		op := trace.Op{Kind: pick(r, kinds...), ID: r.id(), Pool: r.pool(), Stream: r.IntN(2)}
		if op.Kind == trace.OpKernel && r.bool() {
			op.Frees = []int64{r.id()}
		}
		if r.IntN(3) == 0 {
			op.Kind, op.Fault = trace.OpFault, spec.FaultSpec{Call: pick(r, "QueryEvent", "SynchronizeEvent", "RecordEvent", "Free", "CreatePage", "SetAccess", "FreeAddress", "UnmapPage", "CaptureStatus")}
		}
		o.Ops = append(o.Ops, op)
	}
	d := &Difference{Operation: len(o.Ops), What: pick(r, "address", "trace entry", "trace entry", "layout", "error", "crash", "hang", "message, free", "num_sync_all_streams"), lostRanges: r.bool()}
	d.ours.Err, d.theirs.Err, d.ours.Ptr, d.theirs.Ptr = r.ourError(), r.theirError(), r.place(), r.place()
	d.ours.Entries, d.theirs.Entries = r.entries(), r.entries()
	if r.bool() { // the same, in another order
		d.theirs.Entries = slices.Clone(d.ours.Entries)
		slices.Reverse(d.theirs.Entries)
	}
	if r.IntN(4) == 0 {
		d.ours.Freed = []int64{1}
	}
	o.Difference = d
	m := &mismatch{Outcome: o, op: &o.Ops[len(o.Ops)-1], captured: r.bool(), strict: r.bool(), filled: map[devicePool]bool{{0, o.Ops[len(o.Ops)-1].Pool}: r.bool()}, pools: some(r, r.devicePool), unmarked: some(r, r.place)}
	m.before.Segments = r.segments()
	m.config = spec.Config{GraphCaptureRecordStreamReuse: r.bool(), MaxSplitSize: pick[uint64](r, spec.Unlimited, 512, 1024, 2048)}
	m.facts = r.facts()
	return m
}

func (r random) devicePool() devicePool { return devicePool{spec.Device(r.IntN(2)), r.pool()} }

func (r random) facts() facts {
	f := newFacts()
	f.useOnOOM, f.expandable, f.queryFailed, f.eagerUse, f.completed, f.waited2, f.recordFailed = r.bool(), r.bool(), r.bool(), r.bool(), r.bool(), r.bool(), r.bool()
	f.strayed, f.remembered, f.waited, f.captures, f.current = r.bool(), r.bool(), r.bool(), r.IntN(3), spec.Device(r.IntN(2))
	f.overflows, f.released, f.begun, f.capturePool = some(r, r.pool), some(r, r.pool), some(r, r.pool), some(r, r.pool)
	f.refusedUses, f.default2 = some(r, r.id), some(r, r.id)
	for id := range 3 {
		f.places[int64(id)] = r.place()
	}
	for range r.IntN(3) {
		f.freed2 = append(f.freed2, r.place())
		f.waitedFor = append(f.waitedFor, freedUse{r.place(), r.on()})
		f.forgotten = append(f.forgotten, forgottenUse{freedUse{r.place(), r.on()}, pick(r, rowJoinsCapture, rowUsedBefore, rowNotCaptured)})
		f.erased.memory = append(f.erased.memory, spec.Range{Ptr: r.place(), Bytes: 512 * uint64(1+r.IntN(3))})
	}
	f.erased.touched = r.IntN(4) == 0
	return f
}

// TestRulesAreAsBefore: which rules hold for mismatches that are drawn is as it was. Others test that a rule is right;
// this notices what few programs, or none without a library, would show.
func TestRulesAreAsBefore(t *testing.T) {
	const cases = 12_000
	r := random{rand.New(rand.NewPCG(1, 36))}
	var names []string
	held := map[string][]int{}
	note := func(name string, number int, holds bool) {
		if _, met := held[name]; !met {
			names = append(names, name)
			held[name] = []int{}
		}
		if holds {
			held[name] = append(held[name], number)
		}
	}
	for number := range cases {
		m := r.mismatch()
		for i, rule := range rules {
			note(fmt.Sprintf("%d %s", i, rule.row), number, rule.holds(m))
		}
		for _, row := range faultRows {
			note("fault "+row, number, m.faultRow() == row)
		}
		m.Difference.hazard = &fakegpu.Hazard{Kind: pick(r, fakegpu.Returned, fakegpu.Unordered), First: cmp.Or(r.access(), &fakegpu.Access{})}
		if r.bool() {
			m.same = &fakegpu.Hazard{Kind: pick(r, fakegpu.Returned, fakegpu.Unordered)}
		}
		for _, rule := range hazardRules {
			note("hazard "+rule.row, number, rule.holds(m))
		}
	}
	var told strings.Builder
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&told, "%s: %d of %d, %s\n", name, len(held[name]), cases, kept.Sum(held[name]))
	}
	kept.Compare(t, filepath.Join("testdata", "rules"), told.String())
}

// TestAvoidedIsAsBefore: what programs that are drawn leave out, or change, is as it was.
func TestAvoidedIsAsBefore(t *testing.T) {
	r := random{rand.New(rand.NewPCG(2, 36))}
	var told strings.Builder
	for seed := range uint64(400) {
		h := trace.Header{Devices: 1 + r.IntN(2), Family: pick(r, "core", "checkpoint"), Release: pick(r, "2.8", "2.9", "2.13", "2.15")}
		h.Settings = strings.Join([]string{"max_split_size_mb:64", pick(r, "expandable_segments:True", "expandable_segments:False"), pick(r, "graph_capture_record_stream_reuse:True", "pinned_use_background_threads:True")}, ",")
		a := newAvoider(h, seed)
		for number := range 60 {
			one := r.IntN(2)
			op := trace.Op{
				Kind: pick(r, trace.OpMalloc, trace.OpMalloc, trace.OpBusy, trace.OpPoolCreate, trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpRecordStream, trace.OpFree, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpEmptyCache),
				ID:   r.id(), Device: spec.Device(r.IntN(h.Devices)), Stream: r.IntN(2), Pool: r.pool(), UseOnOOM: r.bool(), Mode: spec.CaptureGlobal, By: pick(r, trace.ByCapture, trace.ByStream),
			}
			if r.IntN(4) == 0 {
				op.Current = &one
			}
			out := &r.mismatch().Difference.ours
			avoids := a.avoids(&op)
			fmt.Fprintln(&told, seed, number, avoids, op.UseOnOOM, op.Mode)
			if !avoids {
				a.did(&op, out)
			}
		}
	}
	all := told.String()
	kept.Compare(t, filepath.Join("testdata", "avoided"), fmt.Sprintf("%d of %d operations are left out, %s\n", strings.Count(all, " true "), strings.Count(all, "\n"), kept.Sum(all)))
}
