package torch

import (
	"errors"
	"slices"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// mismatch is the first difference of a program, and the state before it.
type mismatch struct {
	*Outcome
	op       *trace.Op
	before   spec.Snapshot       // of the reference
	pools    map[devicePool]bool // that the reference has
	config   spec.Config         // in force
	same     *fakegpu.Hazard     // the first on the reference's device, if that is what differs
	filled   map[devicePool]bool // filledPools
	unmarked map[spec.Ptr]bool   // deferred frees without free markers
	captured bool                // the stream of the operation is being captured
	strict   bool                // a capture was under way that is not relaxed
	facts    facts
}

// facts are what the program has done up to then.
type facts struct {
	useOnOOM    bool                 // a pool is marked so
	overflows   map[spec.PoolID]bool // those that are
	released    map[spec.PoolID]bool // pools that were
	expandable  bool                 // settings have had a word on expandable segments
	begun       map[spec.PoolID]bool // pools that requests go to
	queryFailed bool                 // an event could not be queried or waited for
	eagerUse    bool                 // since it was recorded in a capture
	refusedUses map[int64]bool       // memory with uses that were refused since a capture was invalidated
	completed   bool                 // several frees were completed in one operation
	captures    int                  // under way
	underWay    captured             // the same
	default2    map[int64]bool       // memory on a default stream that another device's is recorded for
	owners      map[int64]trace.Op   // mallocs of what was allocated
	places      map[int64]spec.Ptr   // and where it is
	freed2      []spec.Ptr           // memory of default2 that was freed
	waited2     bool                 // the reference has waited for a stream that uses such memory
	capturePool map[spec.PoolID]bool // pools that serve captures

	recordFailed bool // an event of a deferred free could not be recorded

	current spec.Device // that malloc has made so
	// strayed: pages were unmapped that a default stream of another than the current device
	// might have used.
	strayed bool
	// recorded is memory that a stream was recorded for while requests were routed to a pool;
	// remembered: some of it was freed when they were not any more.
	recorded   map[int64]bool
	remembered bool
	uses       map[int64][]use
	forgotten  []forgottenUse
	waitedFor  []freedUse // uses of freed memory that are waited for
	erased     memoryOfErasedPools
	waited     bool // and then the reference has waited for a stream, as PyTorch perhaps has not
}

func newFacts() facts {
	return facts{
		overflows: map[spec.PoolID]bool{}, released: map[spec.PoolID]bool{}, begun: map[spec.PoolID]bool{}, capturePool: map[spec.PoolID]bool{},
		default2: map[int64]bool{}, owners: map[int64]trace.Op{}, places: map[int64]spec.Ptr{}, recorded: map[int64]bool{},
		uses: map[int64][]use{}, refusedUses: map[int64]bool{},
	}
}

// before performs the program up to the difference once more, on the reference alone.
func before(o *Outcome) (*mismatch, error) {
	hardware, captures := o.hardware()
	player, err := perform.NewOn(&o.Header, newReference, hardware, captures.around)
	if err != nil {
		return nil, err
	}
	m := &mismatch{Outcome: o, op: &o.Ops[len(o.Ops)-1]}
	m.facts = newFacts()
	m.facts.expandable = perform.NamesExpandable(o.Header.Settings)
	if m.config, err = rulesOf(&o.Header).Settings.Parse(o.Header.Settings, spec.DefaultGeometry()); err != nil {
		return nil, err
	}
	last := len(o.Ops) - 1
	if o.Difference.Op == "end" || o.Difference.hazard != nil {
		last++ // all of them were alike
	}
	var program *conformance.Program
	var lifetimes *conformance.Lifetimes
	if o.Difference.hazard != nil {
		program = newProgram(conformance.Find(o.Header.Family), o.Header)
		lifetimes = program.Lifetimes(player.GPU())
	}
	for i := range o.Ops[:last] {
		op := &o.Ops[i]
		var held [fakegpu.MaxDevices]bool
		if o.Header.Devices > 1 {
			held = heldDefaults(player.GPU())
		}
		busy := uint64(0)
		if len(m.facts.recorded) > 0 {
			busy = busyStreams(player.GPU(), &o.Header)
		}
		var out perform.Result
		watched(player, lifetimes, op, &out)
		captures.follow(op, &out, &o.Header)
		m.follow(op, &out, player.GPU())
		if program != nil {
			program.Did(op, &out)
		}
		m.facts.erased.see(m, op, &out, player.Allocator())
		m.seeStraying(op, held, player.GPU(), &out)
		if m.facts.remembered && !ofDevice(op.Kind) && busy != busyStreams(player.GPU(), &o.Header) {
			m.facts.waited = true
		}
	}
	m.same = firstHazard(player.GPU())
	m.filled = filledPools(player.Allocator(), o.Header.Devices)
	m.unmarked = unmarkedFrees(player.Allocator(), m.op.Device)
	m.pools = existingPools(player.Allocator(), o.Header.Devices)
	m.captured = capturing(player.GPU(), spec.DeviceStream{Device: m.op.Device, Stream: o.Header.Streams[m.op.Stream]})
	m.strict = player.GPU().FreeForbidden()
	m.before, err = player.Allocator().Snapshot()
	return m, err
}

// unmarkedFrees are the deferred frees of a device that no malloc completes in a capture.
func unmarkedFrees(a spec.Allocator, dev spec.Device) map[spec.Ptr]bool {
	frees := map[spec.Ptr]bool{}
	inspect(a, dev, spec.Visitor{DeferredFree: func(d *spec.DeferredFreeView) {
		if d.Markers == 0 {
			frees[d.Block] = true
		}
	}})
	return frees
}

// inspect looks into the reference, which has no error for a device that there is.
func inspect(a spec.Allocator, dev spec.Device, v spec.Visitor) {
	_ = a.(spec.Inspector).Inspect(dev, v)
}

func completedFrees(entries []spec.TraceEntry) (n int) {
	for _, e := range entries {
		if e.Action == spec.ActionFreeCompleted {
			n++
		}
	}
	return n
}

// heldDefaults are the devices whose default streams are held.
func heldDefaults(g *fakegpu.GPU) (held [fakegpu.MaxDevices]bool) {
	for dev := range g.DeviceCount() {
		held[dev] = !g.Idle(spec.Device(dev), 0)
	}
	return held
}

// busyStreams is the set of the streams, by index, that have work left.
func busyStreams(g *fakegpu.GPU, h *trace.Header) (busy uint64) {
	for i, s := range h.Streams {
		for dev := range g.DeviceCount() {
			if !g.Idle(spec.Device(dev), s) {
				busy |= 1 << i
			}
		}
	}
	return busy
}

// seeStraying: the reference has waited for the default stream of a segment's device before
// it unmapped pages. PyTorch waits for that of the current device.
func (m *mismatch) seeStraying(op *trace.Op, held [fakegpu.MaxDevices]bool, g *fakegpu.GPU, out *perform.Result) {
	if g.DeviceCount() == 1 {
		return
	}
	if len(m.facts.freed2) > 0 && !ofDevice(op.Kind) && held != heldDefaults(g) {
		m.facts.waited2 = true
	}
	unmapped := slices.ContainsFunc(out.Entries, func(e spec.TraceEntry) bool {
		return e.Action == spec.ActionSegmentUnmap && e.Stream == 0
	})
	if !unmapped {
		return
	}
	if held != heldDefaults(g) || held[m.facts.current] {
		m.facts.strayed = true
	}
}

// inCapture reports whether an operation counts as one in a capture.
func (m *mismatch) inCapture(op *trace.Op) bool {
	if rulesOf(&m.Header).Captures == upstream.CapturesByMark {
		return m.facts.underWay.has(m.facts.underWay.current(op))
	}
	return len(m.facts.begun) > 0
}

// changesNothing reports whether an operation has left everything as it was. The end of a capture that fails ends it.
func changesNothing(op *trace.Op, out *perform.Result) bool {
	return out.Err != nil && op.Kind != trace.OpCaptureEnd || out.Skipped
}

// follow records an operation that the reference has performed.
func (m *mismatch) follow(op *trace.Op, out *perform.Result, g *fakegpu.GPU) {
	f := &m.facts
	if op.Kind == trace.OpMalloc || op.Kind == trace.OpSetMemoryFraction && rulesOf(&m.Header).FractionMakesCurrent {
		f.current = op.Device
	}
	f.completed = f.completed || completedFrees(out.Entries) > 1 || op.Kind == trace.OpRestore
	var failed *spec.DriverError
	if errors.As(out.Err, &failed) && (failed.Call == "QueryEvent" || failed.Call == "SynchronizeEvent") && op.Kind.Target() == trace.TargetAllocator {
		f.queryFailed = true
		f.eagerUse = f.eagerUse || failed.Code == 907 && rulesOf(&m.Header).Captures == upstream.CapturesByMark
	}
	f.recordFailed = f.recordFailed || failed != nil && failed.Call == "RecordEvent" && op.Kind != trace.OpFree
	if _, invalidated := errors.AsType[*spec.CaptureInvalidatedError](out.Err); invalidated && op.Kind == trace.OpRecordStream {
		f.refusedUses[op.ID] = true
	}
	if changesNothing(op, out) {
		return
	}
	m.uses(op, g)
	f.underWay.follow(op)
	switch op.Kind {
	case trace.OpMalloc:
		delete(f.refusedUses, op.ID)
		f.owners[op.ID], f.places[op.ID] = *op, out.Ptr
	case trace.OpRecordStream:
		owner := f.owners[op.ID]
		if len(f.begun) > 0 {
			f.recorded[op.ID] = true
		}
		if owner.Stream == 0 && op.Stream == 0 && owner.Device != op.Device {
			f.default2[op.ID] = true
		}
	case trace.OpPoolRelease, trace.OpPoolDelete:
		f.released[op.Pool] = true
	case trace.OpPoolCreate:
		f.useOnOOM = f.useOnOOM || op.UseOnOOM
		f.overflows[op.Pool] = f.overflows[op.Pool] || op.UseOnOOM
	case trace.OpFree:
		if f.default2[op.ID] {
			f.freed2 = append(f.freed2, f.places[op.ID])
		}
		f.remembered = f.remembered || f.recorded[op.ID] && !m.inCapture(op)
	case trace.OpPoolEnd:
		delete(f.begun, op.Pool)
	case trace.OpPoolBegin:
		f.begun[op.Pool] = true
		if op.By == trace.ByCapture || f.captures > 0 || m.Scale != "" && rulesOf(&m.Header).Captures == upstream.CapturesByRouting {
			f.capturePool[op.Pool] = true
		}
	case trace.OpCaptureBegin:
		f.captures++
		for id := range f.begun {
			f.capturePool[id] = true
		}
	case trace.OpCaptureEnd:
		f.captures--
	case trace.OpConfigure:
		f.expandable = f.expandable || perform.NamesExpandable(op.Settings)
		if c, err := rulesOf(&m.Header).Settings.Apply(m.config, op.Settings, spec.DefaultGeometry()); err == nil {
			m.config = c
		}
	}
}
