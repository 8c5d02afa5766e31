package conformance

import (
	"slices"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// Private pools and their checkpoints.

var (
	poolShares = []Share{
		{trace.OpPoolCreate, 2}, {trace.OpPoolBegin, 5}, {trace.OpPoolEnd, 4},
		{trace.OpPoolRelease, 1}, {trace.OpPoolDelete, 2},
	}
	checkpointShares = []Share{{trace.OpCheckpoint, 6}, {trace.OpRestore, 6}, {trace.OpPoolBegin, 6}}
	poolMisuse       = []trace.OpKind{trace.OpPoolEnd, trace.OpPoolBegin, trace.OpPoolRelease, trace.OpPoolCreate, trace.OpCheckpoint}
)

var poolKinds = map[trace.OpKind]kind{
	trace.OpPoolCreate: {
		propose: (*Generator).poolCreate, allowed: (*Program).mayCreatePool,
		did:   func(p *Program, op *trace.Op, _ *perform.Result) { p.created(op) },
		atEnd: ending{stagePools, (*Program).releaseNext},
		misuse: &misuse{
			propose: func(g *Generator) trace.Op { return trace.Op{Device: g.device()} },
			wrong:   func(p *Program, op *trace.Op) bool { return op.Pool.IsDefault() },
			answer:  trace.ErrorInvalidArgument,
		},
	},
	trace.OpPoolBegin: {
		propose: (*Generator).poolBegin, allowed: (*Program).mayBeginPool, did: (*Program).begun,
		misuse: &misuse{
			propose: func(g *Generator) trace.Op {
				return trace.Op{Pool: g.anyPool(), By: trace.ByThread, Device: g.device()}
			},
			wrong: func(p *Program, op *trace.Op) bool {
				q := p.pool(op.Device, op.Pool)
				return q != nil && q.begun
			},
			answer: trace.ErrorInvalidState,
		},
	},
	trace.OpPoolEnd: {
		propose: (*Generator).poolEnd, allowed: (*Program).mayEndPool,
		did: (*Program).endedRouting,
		misuse: &misuse{
			propose: (*Generator).somePool,
			wrong: func(p *Program, op *trace.Op) bool {
				q := p.pool(op.Device, op.Pool)
				return q == nil || !q.begun
			},
			answer: trace.ErrorInvalidState,
		},
	},
	trace.OpPoolRelease: {
		propose: (*Generator).poolOfDevice, allowed: (*Program).mayReleasePool, did: (*Program).released,
		misuse: &misuse{
			propose: (*Generator).somePool,
			wrong: func(p *Program, op *trace.Op) bool {
				q := p.pool(op.Device, op.Pool)
				return q == nil || q.useCount == 0
			},
			answer: trace.ErrorInvalidState,
		},
	},
	// A pool that cannot be emptied was released before that.
	trace.OpPoolDelete: {
		propose: (*Generator).poolOfDevice, allowed: (*Program).mayDeletePool, did: (*Program).released,
		failed: (*Program).released, failsForGood: true,
		history: func(_ *Trial, out *invariant.Outcome) { out.Err = nil },
	},
	trace.OpCheckpoint: {
		propose: func(g *Generator) trace.Op {
			return trace.Op{Device: g.device(), Pool: g.anyPool(), State: g.program.stateIDs}
		},
		allowed: (*Program).mayCheckpoint, did: (*Program).saved,
		mayFail: (*Trial).checkpointMayFail,
		history: func(t *Trial, out *invariant.Outcome) {
			if out.Err == nil {
				out.Snapshot = t.snapshot()
			}
		},
		misuse: &misuse{
			propose: func(g *Generator) trace.Op {
				return trace.Op{Pool: g.anyPool(), State: g.program.stateIDs, Device: g.device()}
			},
			wrong: func(p *Program, op *trace.Op) bool {
				q := p.pool(op.Device, op.Pool)
				_, taken := p.states[op.State]
				return (q == nil || q.useCount == 0) && !taken
			},
			answer: trace.ErrorInvalidState,
		},
	},
	trace.OpRestore: {
		propose: (*Generator).restore, allowed: (*Program).mayRestore, did: (*Program).restored,
		mayFail: (*Trial).restoreMayFail, begins: (*Lifetimes).restore,
		after: (*Trial).checkDelta, checksAll: true,
	},
}

func (g *Generator) poolCreate() trace.Op {
	op := trace.Op{Device: g.device(), Pool: g.anyPool()}
	if chance(g, 2) {
		op.Pool = spec.PoolID{User: uint64(max(g.program.poolIDs, 1))}
	}
	if g.area.Marks {
		op.UseOnOOM, op.NoSplit = chance(g, 3), chance(g, 4)
	}
	return op
}

// mayCreatePool: the number of a pool that was given up is not used again, since from outside
// it cannot be known when the allocator has forgotten the pool.
func (p *Program) mayCreatePool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	return !op.Pool.IsDefault() && (q == nil || q.useCount > 0)
}

// created adds a use to a pool, which is made if need be.
func (p *Program) created(op *trace.Op) *poolState {
	q := p.pool(op.Device, op.Pool)
	if q == nil {
		q = &poolState{device: op.Device, id: op.Pool}
		p.pools = append(p.pools, q)
		p.poolIDs = max(p.poolIDs, int(max(op.Pool.User, op.Pool.Capture))+1)
	}
	q.useCount++
	q.overflow = q.overflow || op.UseOnOOM
	return q
}

// releaseNext ends and releases the next pool. The host first waits for the streams that used a
// pool of graphs.
func (p *Program) releaseNext() (op trace.Op, more bool) {
	for _, q := range p.pools {
		switch {
		case q.begun:
			return trace.Op{Kind: trace.OpPoolEnd, Device: q.device, Pool: q.id}, true
		case q.useCount > 0:
			if slot, on, waits := p.unordered(q); waits {
				s := &p.streams[slot]
				return trace.Op{Kind: trace.OpWaitStream, Device: s.device, Stream: s.index, On: p.streams[on].index}, true
			}
			return trace.Op{Kind: trace.OpPoolRelease, Device: q.device, Pool: q.id}, true
		}
	}
	return trace.Op{}, false
}

func (g *Generator) poolBegin() trace.Op {
	op := g.on()
	op.Pool, op.By, op.Thread = g.anyPool(), trace.ByStream, g.thread()
	switch {
	case chance(g, 3):
		op.By = trace.ByThread
	case len(g.program.captures) > 0 && chance(g, 2):
		return g.route(pick(g, g.program.captures))
	}
	return op
}

func (p *Program) mayBeginPool(op *trace.Op) bool {
	if !p.mayCreatePool(op) {
		return false
	}
	if q := p.pool(op.Device, op.Pool); q != nil && q.begun {
		return false
	}
	of := p.streams[p.slot(op.Device, op.Stream)].capture
	if p.unrouted != nil {
		return op.By == trace.ByCapture && of == p.unrouted
	}
	return op.By != trace.ByCapture || of != nil
}

func (p *Program) begun(op *trace.Op, _ *perform.Result) {
	q := p.created(op)
	q.begun, q.by, q.thread, q.slot = true, op.By, op.Thread, p.slot(op.Device, op.Stream)
	q.since = 0
	for _, o := range p.pools {
		if o != q && o.begun {
			q.since = max(q.since, o.since+1)
		}
	}
	q.of, p.unrouted = nil, nil
	if op.By == trace.ByCapture {
		q.of = p.streams[q.slot].capture
	}
}

// poolEnd prefers what was begun.
func (g *Generator) poolEnd() trace.Op {
	var begun []*poolState
	for _, q := range g.program.pools {
		if q.begun {
			begun = append(begun, q)
		}
	}
	if len(begun) == 0 {
		return trace.Op{Pool: g.anyPool()}
	}
	q := pick(g, begun)
	return trace.Op{Device: q.device, Pool: q.id}
}

// mayEndPool: as long as anything is captured on the device its requests are
// routed to a pool.
func (p *Program) mayEndPool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || !q.begun || !p.exposes && p.endsInCapture(q) {
		return false
	}
	others := slices.ContainsFunc(p.pools, func(o *poolState) bool {
		return o != q && o.begun && o.device == op.Device
	})
	return others || !p.capturing(op.Device)
}

// poolOfDevice proposes a device and a pool, somePool the other way round.
func (g *Generator) poolOfDevice() trace.Op { return trace.Op{Device: g.device(), Pool: g.anyPool()} }
func (g *Generator) somePool() trace.Op     { return trace.Op{Pool: g.anyPool(), Device: g.device()} }

func (p *Program) mayReleasePool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || q.useCount == 0 || q.useCount == 1 && q.begun {
		return false
	}
	_, _, unordered := p.unordered(q)
	return !unordered
}

func (p *Program) mayDeletePool(op *trace.Op) bool {
	return p.mayReleasePool(op) && !p.anyRouted()
}

func (p *Program) released(op *trace.Op, _ *perform.Result) {
	p.pool(op.Device, op.Pool).useCount--
}

func (p *Program) mayCheckpoint(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	_, taken := p.states[op.State]
	return q != nil && q.useCount > 0 && !q.overflow && !taken && !p.capturing(op.Device)
}

func (p *Program) saved(op *trace.Op, _ *perform.Result) {
	s := &savedState{pool: p.pool(op.Device, op.Pool)}
	for _, m := range p.memory {
		if m.pool == s.pool {
			s.live = append(s.live, *m)
		}
	}
	p.states[op.State] = s
	p.stateIDs = max(p.stateIDs, op.State+1)
}

// checkpointMayFail: a pool whose memory other streams have used can be neither saved nor
// restored as long as they may still do so.
func (t *Trial) checkpointMayFail(op *trace.Op, err error) (explained bool, f *Failure) {
	used := t.program.pool(op.Device, op.Pool).used
	return trace.ErrorName(err) == trace.ErrorInvalidState && used, nil
}

func (g *Generator) restore() trace.Op {
	if g.program.stateIDs == 0 {
		return trace.Op{State: -1}
	}
	// The latest states are those of pools that are in use.
	op := trace.Op{State: g.program.stateIDs - 1 - g.Intn(min(g.program.stateIDs, 8))}
	if s := g.program.states[op.State]; s != nil {
		op.Device, op.Pool = s.pool.device, s.pool.id
	}
	return op
}

func (p *Program) mayRestore(op *trace.Op) bool {
	saved := p.states[op.State]
	if saved == nil || saved.pool != p.pool(op.Device, op.Pool) || saved.pool.useCount == 0 || p.capturing(op.Device) {
		return false
	}
	op.Live, op.Freed = nil, nil
	for _, m := range saved.live {
		op.Live = append(op.Live, m.id)
	}
	for _, m := range p.memory {
		if m.pool == saved.pool && !saved.has(m.id) {
			op.Freed = append(op.Freed, m.id)
		}
	}
	return true
}

// restored: what is allocated in the pool and was not at the checkpoint is freed, and what
// was allocated then is again, without the streams that were recorded for it.
func (p *Program) restored(op *trace.Op, _ *perform.Result) {
	for _, id := range op.Freed {
		p.forget(id)
	}
	for _, m := range p.states[op.State].live {
		m.uses, m.routed = nil, false
		m.start, m.captured = p.order.Submit(p.streams[m.slot].work).Epoch, nil
		p.forget(m.id)
		p.memory = append(p.memory, &m)
	}
}

// restoreMayFail: nor can a pool be restored when one of its segments has gone, which
// happens to free oversize blocks of any pool, or, by the rules of some releases, when an
// expandable one has grown.
func (t *Trial) restoreMayFail(op *trace.Op, err error) (explained bool, f *Failure) {
	if used, f := t.checkpointMayFail(op, err); used {
		return used, f
	}
	mayHaveGrown := t.program.rules.RestoreRefusesGrown && slices.ContainsFunc(t.snapshot().Segments, func(s spec.Segment) bool {
		return s.Expandable && s.Device == op.Device && s.Pool == op.Pool
	})
	return trace.ErrorName(err) == trace.ErrorInvalidState && (mayHaveGrown || t.splitLimited()), nil
}

// restore tells the device what a restore freed and allocated.
func (l *Lifetimes) restore(op *trace.Op, _ *perform.Result) {
	l.end(op.Freed)
	saved := l.program.states[op.State]
	for i := range saved.live {
		m := &saved.live[i]
		if l.program.find(m.id) == nil { // what is allocated and stays so lives on
			index := l.program.streams[m.slot].index
			l.begin(index, m.device, spec.Range{Ptr: m.ptr, Bytes: m.size}, saved.pool)
		}
	}
}

// checkDelta compares what an allocator says a restore changed with what was allocated
// in the pool before, all of which it frees, and what was saved, all of which it
// creates. The program has not performed the restore yet.
func (t *Trial) checkDelta(op *trace.Op, out *perform.Result) *Failure {
	saved := t.program.states[op.State]
	var freed, created []spec.Ptr
	for _, m := range t.program.memory {
		if m.pool == saved.pool {
			freed = append(freed, m.ptr)
		}
	}
	for _, m := range saved.live {
		created = append(created, m.ptr)
	}
	if !slices.Equal(slices.Sorted(slices.Values(freed)), out.Restored.Freed) {
		return t.fail("restore delta", "%v were allocated and %v are said to be freed", freed, out.Restored.Freed)
	}
	if !slices.Equal(slices.Sorted(slices.Values(created)), out.Restored.Created) {
		return t.fail("restore delta", "%v were saved and %v are said to be created", created, out.Restored.Created)
	}
	return nil
}
