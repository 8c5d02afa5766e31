package conformance

import (
	"errors"
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Memory: allocating and freeing it, the cache, its limits and its settings.

var (
	statsShares = []Share{{trace.OpResetPeak, 1}, {trace.OpResetAccumulated, 1}}
	limitShares = []Share{
		{trace.OpSetMemoryFraction, 3}, {trace.OpConfigure, 2}, {trace.OpDeviceFree, 2},
		{trace.OpNeedMemoryCallback, 2}, {trace.OpEnable, 1},
	}
	limitMisuse = []trace.OpKind{trace.OpSetMemoryFraction}
)

var memoryKinds = map[trace.OpKind]kind{
	trace.OpMalloc: {
		propose: (*Generator).malloc, allowed: (*Program).mayMalloc, did: (*Program).allocated,
		atEnd:  ending{stageMemory, (*Program).freeNext},
		begins: (*Lifetimes).malloc, checkSuccess: (*Trial).checkPointer, mayFail: (*Trial).mallocMayFail,
	},
	trace.OpFree: {
		propose: (*Generator).free,
		allowed: (*Program).mayFree,
		did:     (*Program).freed,
		ends:    (*Lifetimes).free, after: (*Trial).freedLast,
	},
	trace.OpFreeOn: {
		propose: (*Generator).freeOn, allowed: (*Program).mayFreeOn,
		did:  (*Program).freed,
		ends: (*Lifetimes).free, after: (*Trial).freedLast,
	},
	trace.OpRecordStream: {
		propose: (*Generator).recordStream, allowed: (*Program).mayRecordStream, did: (*Program).recorded,
		begins: (*Lifetimes).recordStream,
	},
	trace.OpEmptyCache: {
		propose: (*Generator).emptyCache, allowed: (*Program).mayEmptyCache, did: nothing,
		mayFail: (*Trial).emptyCacheMayFail,
	},
	trace.OpSetMemoryFraction: {
		propose: func(g *Generator) trace.Op {
			return trace.Op{Device: g.device(), Fraction: g.fraction()}
		},
		allowed: (*Program).maySetMemoryFraction, did: nothing,
		misuse: &misuse{
			propose: func(g *Generator) trace.Op { return trace.Op{Device: g.device(), Fraction: 1.5} },
			wrong:   func(p *Program, op *trace.Op) bool { return op.Fraction > 1 },
			answer:  trace.ErrorInvalidArgument,
		},
	},
	trace.OpConfigure: {
		propose: func(g *Generator) trace.Op { return trace.Op{Settings: pick(g, g.area.Configures)} },
		allowed: (*Program).mayConfigure,
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			p.config, _ = p.rules.Settings.Apply(p.config, op.Settings, p.header.Geometry)
		},
	},
	trace.OpResetPeak: {
		propose: func(g *Generator) trace.Op { return trace.Op{Device: g.device()} }, allowed: always, did: nothing,
	},
	trace.OpResetAccumulated: {
		propose: func(g *Generator) trace.Op { return trace.Op{Device: g.device()} }, allowed: always, did: nothing,
	},
	trace.OpEnable: {
		propose: func(g *Generator) trace.Op { return trace.Op{Enabled: !g.program.enabled} },
		allowed: always,
		did:     func(p *Program, op *trace.Op, _ *perform.Result) { p.enabled = op.Enabled },
	},
	trace.OpNeedMemoryCallback: {
		propose: (*Generator).lend, allowed: (*Program).mayLend,
		did: func(p *Program, op *trace.Op, _ *perform.Result) {
			for _, id := range op.Frees {
				p.find(id).lent = true
			}
		},
	},
}

// fraction is a memory fraction. One in four allows a whole number of large pages less half a
// byte, so that the rounding of the limit decides about a page.
func (g *Generator) fraction() float64 {
	if total := g.program.header.TotalMemory; chance(g, 4) {
		const page = 2 * spec.MiB
		return (float64(page*uint64(1+g.Intn(int(total/page)))) - 0.5) / float64(total)
	}
	return pick(g, []float64{1, 1, 0.75, 0.5, 0.3, 0.2, 0})
}

func (g *Generator) malloc() trace.Op {
	op := g.onCaptured()
	if have := g.program.memory; g.area.Turns && len(have) > 0 && !chance(g, 12) {
		latest := &g.program.streams[have[len(have)-1].slot]
		op.Device, op.Stream = latest.device, latest.index
	}
	op.Thread = g.thread()
	op = g.called(op)
	op.ID = int64(g.program.ids)
	switch {
	case chance(g, 200):
		op.Size = 0
	case chance(g, 1000) && g.area.Memory < room: // an allocator that has room always may end the process
		op.Size = spec.EiB
	default:
		op.Size = g.size()
		if g.area.contract.Aligned && chance(g, 2) {
			op.Align = pick(g, []uint64{16, 256, 512, 4096, 64 * spec.KiB, spec.MiB})
		}
	}
	return op
}

func (p *Program) mayMalloc(op *trace.Op) bool {
	return !p.asleep && p.mayCall(uint64(op.Thread), p.slot(op.Device, op.Stream)) && p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID) &&
		p.poolFor(op).serves(p.state(op).capture != nil) && (p.exposes || !p.forgetsCapture(op))
}

func (p *Program) allocated(op *trace.Op, out *perform.Result) {
	p.ids = max(p.ids, int(op.ID)+1)
	m := &memory{
		id: op.ID, device: op.Device, slot: p.slot(op.Device, op.Stream), size: op.Size, ptr: out.Ptr,
		uncached: !p.enabled && op.Size > 0,
	}
	m.captured = p.streams[m.slot].capture
	m.start = p.order.Submit(p.streams[m.slot].work).Epoch
	m.node = p.order.Submit(p.streams[m.slot].nodes).Epoch
	if op.Size > 0 && p.enabled {
		m.pool = p.poolFor(op)
		m.pool.serve(m.captured != nil)
		if m.captured == nil {
			p.eventsRecorded(op.Device)
		}
	}
	p.memory = append(p.memory, m)
}

// freeNext frees what was allocated first.
func (p *Program) freeNext() (op trace.Op, more bool) {
	if len(p.memory) == 0 {
		return trace.Op{}, false
	}
	if p.area.contract.Uses != UsesRecorded {
		return p.joinAndFree(p.memory[0], p.memory[0].slot), true
	}
	return trace.Op{Kind: trace.OpFree, ID: p.memory[0].id}, true
}

// malloc tells the device what a malloc returned.
func (l *Lifetimes) malloc(op *trace.Op, out *perform.Result) {
	if out.Ptr != 0 {
		l.begin(op.Stream, op.Device, spec.Range{Ptr: out.Ptr, Bytes: op.Size}, l.program.poolFor(op))
	}
}

// checkPointer looks at the pointer of a request.
func (t *Trial) checkPointer(op *trace.Op, out *perform.Result) *Failure {
	if (out.Ptr == 0) != (op.Size == 0) {
		if f := t.fail("null pointer", "a request of %d bytes was given %v", op.Size, out.Ptr); f != nil {
			return f
		}
	}
	switch {
	case op.Align > 0 && uint64(out.Ptr)%op.Align != 0:
		return t.fail("alignment by request", "a request of %d bytes, aligned to %d, was given %v", op.Size, op.Align, out.Ptr)
	case op.Align == 0 && uint64(out.Ptr)%t.alignment() != 0 && t.program.enabled:
		return t.fail("alignment", "a request of %d bytes was given %v", op.Size, out.Ptr)
	}
	return nil
}

// mallocMayFail: for lack of memory, which must be true. What is not cached comes
// straight from the driver, and so do its errors.
func (t *Trial) mallocMayFail(op *trace.Op, err error) (explained bool, f *Failure) {
	switch trace.ErrorName(err) {
	case trace.ErrorOOM:
		return true, t.checkOutOfMemory(op, err)
	case trace.ErrorDriver:
		return errors.Is(err, spec.ErrDriverOutOfMemory) && !t.program.enabled, nil
	}
	return false, nil
}

// mayFree: what is shared stays while another process has anything open.
func (p *Program) mayFree(op *trace.Op) bool {
	m := p.find(op.ID)
	return m != nil && !(m.shared && len(p.opened) > 0) && p.mayFreeByContract(op, m) &&
		(p.exposes || op.Current == nil && !p.forgotten(m) || op.Current != nil && !p.usedInCapture(m))
}

func (p *Program) freed(op *trace.Op, _ *perform.Result) {
	m := p.find(op.ID)
	for _, u := range m.uses {
		if k := p.streams[u.slot].capture; k != nil { // also a use before the capture
			k.freed = true
		}
		if p.defers(m.device) {
			p.deferred = append(p.deferred, deferredUse{m.device, m.pool, u.slot})
		}
	}
	p.forget(op.ID)
}

// free tells the device that memory is about to be freed.
func (l *Lifetimes) free(op *trace.Op) (undo func()) {
	m := l.program.find(op.ID)
	if m == nil {
		return func() {}
	}
	return l.gpu.EndLifetime(m.ptr)
}

// freedLast remembers the pointer for a probe, which frees it again.
func (t *Trial) freedLast(op *trace.Op, _ *perform.Result) *Failure {
	if m := t.program.find(op.ID); m != nil {
		t.freed = m.ptr
	}
	return nil
}

func (g *Generator) recordStream() trace.Op {
	op := g.onCaptured()
	op.ID = g.anyMemory()
	return op
}

func (p *Program) mayRecordStream(op *trace.Op) bool {
	m, slot := p.find(op.ID), p.slot(op.Device, op.Stream)
	if m == nil || p.asleep {
		return false
	}
	if slot == m.slot {
		return true // of no consequence
	}
	captured := p.streams[slot].capture != nil
	if captured && op.Current != nil {
		return false
	}
	return p.exposes || !slices.Contains(m.uses, use{slot, !captured})
}

func (p *Program) recorded(op *trace.Op, _ *perform.Result) {
	m, slot := p.find(op.ID), p.slot(op.Device, op.Stream)
	u := use{slot, p.streams[slot].capture != nil}
	if slot == m.slot {
		return
	}
	m.routed = m.routed || p.routed(m.device) && !u.captured && !p.besideCaptures(op)
	if slices.Contains(m.uses, u) {
		return
	}
	m.uses = append(m.uses, u)
	if m.pool != nil {
		m.pool.used = true
	}
}

func (g *Generator) emptyCache() trace.Op {
	if g.area.Pools && chance(g, 4) {
		return trace.Op{Pool: g.anyPool()}
	}
	return trace.Op{}
}

// emptyCacheMayFail: by the rules of some releases, while requests are routed to a pool.
func (t *Trial) emptyCacheMayFail(_ *trace.Op, err error) (explained bool, f *Failure) {
	return t.program.rules.RoutedEmptyCacheFails && t.program.anyRouted() && trace.ErrorName(err) == trace.ErrorInvalidState, nil
}

func (p *Program) mayEmptyCache(op *trace.Op) bool {
	return !p.asleep && (op.Pool.IsDefault() || !p.anyRouted()) && (op.Current == nil || p.mayEmptyBeside())
}

func (p *Program) maySetMemoryFraction(op *trace.Op) bool {
	op.Allowed = uint64(op.Fraction * float64(p.header.TotalMemory))
	return op.Fraction >= 0 && op.Fraction <= 1
}

// mayConfigure: what may be set depends on what is in force; a max_split_size below
// the large segment size, which persists, is refused.
func (p *Program) mayConfigure(op *trace.Op) bool {
	_, err := p.rules.Settings.Apply(p.config, op.Settings, p.header.Geometry)
	return err == nil
}

// lend proposes one or two allocations that a callback is to free.
func (g *Generator) lend() trace.Op {
	op := trace.Op{Frees: []int64{g.anyMemory()}}
	if second := g.anyMemory(); second != op.Frees[0] && chance(g, 2) {
		op.Frees = append(op.Frees, second)
	}
	return op
}

func (p *Program) mayLend(op *trace.Op) bool {
	for _, id := range op.Frees {
		if m := p.find(id); m == nil || m.lent || m.shared || m.uncached {
			return false
		}
	}
	return len(op.Frees) > 0
}
