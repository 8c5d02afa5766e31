package conformance

import (
	"slices"

	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
)

// Prepare reports whether the program can sensibly perform the operation now, and
// fills in what follows from the program's state: the limit in bytes, the lists of
// a restore. An operation with an expected error is one of misuse; of those it
// reports whether they are wrong now.
func (p *Program) Prepare(op *trace.Op) bool {
	if p.orphan != nil && op.Kind != trace.OpPoolBegin {
		return false
	}
	if op.Stream >= len(p.header.Streams) || op.On >= len(p.header.Streams) || p.slot(op.Device, op.Stream) < 0 {
		return false
	}
	if op.Expect.Error != "" {
		misuse, known := misuses[op.Kind]
		return known && misuse.wrong(p, op)
	}
	rule, known := rules[op.Kind]
	return known && rule(p, op)
}

// rules says of each kind whether it may be performed now.
var rules = map[trace.OpKind]func(p *Program, op *trace.Op) bool{
	trace.OpMalloc:             (*Program).mayMalloc,
	trace.OpFree:               (*Program).mayFree,
	trace.OpRecordStream:       (*Program).mayRecordStream,
	trace.OpEmptyCache:         (*Program).mayEmptyCache,
	trace.OpSetMemoryFraction:  (*Program).maySetMemoryFraction,
	trace.OpConfigure:          (*Program).mayConfigure,
	trace.OpResetPeak:          always,
	trace.OpResetAccumulated:   always,
	trace.OpEnable:             always,
	trace.OpDeviceFree:         always,
	trace.OpFault:              always,
	trace.OpNeedMemoryCallback: (*Program).mayLend,

	trace.OpPoolCreate:  (*Program).mayCreatePool,
	trace.OpPoolBegin:   (*Program).mayBeginPool,
	trace.OpPoolEnd:     (*Program).mayEndPool,
	trace.OpPoolRelease: (*Program).mayReleasePool,
	trace.OpPoolDelete:  (*Program).mayDeletePool,
	trace.OpCheckpoint:  (*Program).mayCheckpoint,
	trace.OpRestore:     (*Program).mayRestore,

	trace.OpPeerAccess:  (*Program).mayReachPeer,
	trace.OpShare:       (*Program).mayShare,
	trace.OpOpenShared:  (*Program).mayOpenShared,
	trace.OpCloseShared: (*Program).mayCloseShared,

	trace.OpBusy:         (*Program).mayHold,
	trace.OpDrain:        (*Program).mayDrain,
	trace.OpSynchronize:  (*Program).maySynchronize,
	trace.OpKernel:       (*Program).mayLaunch,
	trace.OpCopy:         (*Program).mayCopy,
	trace.OpWaitStream:   (*Program).mayWaitStream,
	trace.OpRecordEvent:  always,
	trace.OpWaitEvent:    (*Program).mayWaitEvent,
	trace.OpCaptureBegin: (*Program).mayBeginCapture,
	trace.OpCaptureEnd:   (*Program).mayEndCapture,
	trace.OpGraphLaunch:  (*Program).mayLaunchGraph,
	trace.OpGraphDestroy: (*Program).mayDestroyGraph,
}

func always(*Program, *trace.Op) bool { return true }

// mayConfigure: what may be set depends on what is in force; a max_split_size below
// the large segment size, which persists, is refused.
func (p *Program) mayConfigure(op *trace.Op) bool {
	_, err := settings.Apply(p.config, op.Settings, p.header.Geometry)
	return err == nil
}

func (p *Program) mayMalloc(op *trace.Op) bool {
	return p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID) &&
		p.diverted(op).serves(p.state(op).capture != nil)
}

// mayFree: what is shared stays while another process has anything open.
func (p *Program) mayFree(op *trace.Op) bool {
	m := p.find(op.ID)
	return m != nil && !(m.shared && len(p.opened) > 0) && !p.forgotten(m)
}

func (p *Program) mayRecordStream(op *trace.Op) bool {
	m, slot := p.find(op.ID), p.slot(op.Device, op.Stream)
	if m == nil {
		return false
	}
	if slot == m.slot {
		return true // of no consequence
	}
	captured := p.streams[slot].capture != nil
	return !slices.Contains(m.uses, use{slot, !captured})
}

func (p *Program) mayEmptyCache(op *trace.Op) bool {
	return op.Pool.IsDefault() || !p.anyRedirected()
}

func (p *Program) anyRedirected() bool {
	return slices.ContainsFunc(p.pools, func(q *poolState) bool { return q.begun })
}

func (p *Program) maySetMemoryFraction(op *trace.Op) bool {
	op.Allowed = uint64(op.Fraction * float64(p.header.TotalMemory))
	return op.Fraction >= 0 && op.Fraction <= 1
}

func (p *Program) mayLend(op *trace.Op) bool {
	for _, id := range op.Frees {
		if m := p.find(id); m == nil || m.lent || m.shared || m.uncached {
			return false
		}
	}
	return len(op.Frees) > 0
}

// mayCreatePool: the number of a pool that was given up is not used again, since
// nobody outside knows when the allocator has forgotten it.
func (p *Program) mayCreatePool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	return !op.Pool.IsDefault() && (q == nil || q.useCount > 0)
}

func (p *Program) mayBeginPool(op *trace.Op) bool {
	if !p.mayCreatePool(op) {
		return false
	}
	if q := p.pool(op.Device, op.Pool); q != nil && q.begun {
		return false
	}
	of := p.streams[p.slot(op.Device, op.Stream)].capture
	if p.orphan != nil {
		return op.By == trace.ByCapture && of == p.orphan
	}
	return op.By != trace.ByCapture || of != nil
}

// mayEndPool: as long as anything is captured on the device its requests are
// redirected.
func (p *Program) mayEndPool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || !q.begun {
		return false
	}
	others := slices.ContainsFunc(p.pools, func(o *poolState) bool {
		return o != q && o.begun && o.device == op.Device
	})
	return others || !p.capturing(op.Device)
}

func (p *Program) mayReleasePool(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || q.useCount == 0 || q.useCount == 1 && q.begun {
		return false
	}
	_, _, unsettled := p.unsettled(q)
	return !unsettled
}

func (p *Program) mayDeletePool(op *trace.Op) bool {
	return p.mayReleasePool(op) && !p.anyRedirected()
}

func (p *Program) mayCheckpoint(op *trace.Op) bool {
	q := p.pool(op.Device, op.Pool)
	_, taken := p.states[op.State]
	return q != nil && q.useCount > 0 && !q.overflow && !taken && !p.capturing(op.Device)
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

func (p *Program) mayReachPeer(op *trace.Op) bool { return op.Peer != op.Device }

func (p *Program) mayShare(op *trace.Op) bool {
	m := p.find(op.ID)
	return m != nil && m.size > 0 && !m.uncached && m.device == op.Device && p.handle(op.Handle) == nil
}

func (p *Program) mayOpenShared(op *trace.Op) bool {
	h := p.handle(op.Handle)
	return h != nil && p.find(h.of).device == op.Device && p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID)
}

func (p *Program) mayCloseShared(op *trace.Op) bool { return slices.Contains(p.opened, op.ID) }
