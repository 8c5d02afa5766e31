package conformance

import (
	"slices"

	"gaugeblock/spec"
)

// Prepare reports whether the program can sensibly perform the operation now, and
// fills in what follows from the program's state: the limit in bytes, the lists of
// a restore. An operation with an expected error is one of misuse; of those it
// reports whether they are wrong now.
func (p *Program) Prepare(op *spec.Op) bool {
	if p.orphan != nil && op.Kind != spec.OpPoolBegin {
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
var rules = map[spec.OpKind]func(p *Program, op *spec.Op) bool{
	spec.OpMalloc:             (*Program).mayMalloc,
	spec.OpFree:               (*Program).mayFree,
	spec.OpRecordStream:       (*Program).mayRecordStream,
	spec.OpEmptyCache:         (*Program).mayEmptyCache,
	spec.OpSetMemoryFraction:  (*Program).maySetMemoryFraction,
	spec.OpConfigure:          (*Program).mayConfigure,
	spec.OpResetPeak:          always,
	spec.OpResetAccumulated:   always,
	spec.OpEnable:             always,
	spec.OpDeviceFree:         always,
	spec.OpFault:              always,
	spec.OpNeedMemoryCallback: (*Program).mayLend,

	spec.OpPoolCreate:  (*Program).mayCreatePool,
	spec.OpPoolBegin:   (*Program).mayBeginPool,
	spec.OpPoolEnd:     (*Program).mayEndPool,
	spec.OpPoolRelease: (*Program).mayReleasePool,
	spec.OpPoolDelete:  (*Program).mayDeletePool,
	spec.OpCheckpoint:  (*Program).mayCheckpoint,
	spec.OpRestore:     (*Program).mayRestore,

	spec.OpPeerAccess:  (*Program).mayReachPeer,
	spec.OpShare:       (*Program).mayShare,
	spec.OpOpenShared:  (*Program).mayOpenShared,
	spec.OpCloseShared: (*Program).mayCloseShared,

	spec.OpBusy:         (*Program).mayHold,
	spec.OpDrain:        (*Program).mayDrain,
	spec.OpSynchronize:  (*Program).maySynchronize,
	spec.OpKernel:       (*Program).mayLaunch,
	spec.OpCopy:         (*Program).mayCopy,
	spec.OpWaitStream:   (*Program).mayWaitStream,
	spec.OpRecordEvent:  always,
	spec.OpWaitEvent:    (*Program).mayWaitEvent,
	spec.OpCaptureBegin: (*Program).mayBeginCapture,
	spec.OpCaptureEnd:   (*Program).mayEndCapture,
	spec.OpGraphLaunch:  (*Program).mayLaunchGraph,
	spec.OpGraphDestroy: (*Program).mayDestroyGraph,
}

func always(*Program, *spec.Op) bool { return true }

// mayConfigure: what may be set depends on what is in force; a max_split_size below
// the large segment size, which persists, is refused.
func (p *Program) mayConfigure(op *spec.Op) bool {
	_, err := spec.ApplySettings(p.config, op.Settings, p.header.Geometry)
	return err == nil
}

func (p *Program) mayMalloc(op *spec.Op) bool {
	return p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID) &&
		p.diverted(op).serves(p.state(op).capture != nil)
}

// mayFree: what is shared stays while another process has anything open.
func (p *Program) mayFree(op *spec.Op) bool {
	m := p.find(op.ID)
	return m != nil && !(m.shared && len(p.opened) > 0) && !p.forgotten(m)
}

func (p *Program) mayRecordStream(op *spec.Op) bool {
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

func (p *Program) mayEmptyCache(op *spec.Op) bool {
	return op.Pool.IsDefault() || !p.anyRedirected()
}

func (p *Program) anyRedirected() bool {
	return slices.ContainsFunc(p.pools, func(q *poolState) bool { return q.begun })
}

func (p *Program) maySetMemoryFraction(op *spec.Op) bool {
	op.Allowed = uint64(op.Fraction * float64(p.header.TotalMemory))
	return op.Fraction >= 0 && op.Fraction <= 1
}

func (p *Program) mayLend(op *spec.Op) bool {
	for _, id := range op.Frees {
		if m := p.find(id); m == nil || m.lent || m.shared || m.uncached {
			return false
		}
	}
	return len(op.Frees) > 0
}

// mayCreatePool: the number of a pool that was given up is not used again, since
// nobody outside knows when the allocator has forgotten it.
func (p *Program) mayCreatePool(op *spec.Op) bool {
	q := p.pool(op.Device, op.Pool)
	return !op.Pool.IsDefault() && (q == nil || q.useCount > 0)
}

func (p *Program) mayBeginPool(op *spec.Op) bool {
	if !p.mayCreatePool(op) {
		return false
	}
	if q := p.pool(op.Device, op.Pool); q != nil && q.begun {
		return false
	}
	of := p.streams[p.slot(op.Device, op.Stream)].capture
	if p.orphan != nil {
		return op.By == spec.ByCapture && of == p.orphan
	}
	return op.By != spec.ByCapture || of != nil
}

// mayEndPool: as long as anything is captured on the device its requests are
// redirected.
func (p *Program) mayEndPool(op *spec.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || !q.begun {
		return false
	}
	others := slices.ContainsFunc(p.pools, func(o *poolState) bool {
		return o != q && o.begun && o.device == op.Device
	})
	return others || !p.capturing(op.Device)
}

func (p *Program) mayReleasePool(op *spec.Op) bool {
	q := p.pool(op.Device, op.Pool)
	if q == nil || q.useCount == 0 || q.useCount == 1 && q.begun {
		return false
	}
	_, _, unsettled := p.unsettled(q)
	return !unsettled
}

func (p *Program) mayDeletePool(op *spec.Op) bool {
	return p.mayReleasePool(op) && !p.anyRedirected()
}

func (p *Program) mayCheckpoint(op *spec.Op) bool {
	q := p.pool(op.Device, op.Pool)
	_, taken := p.states[op.State]
	return q != nil && q.useCount > 0 && !q.overflow && !taken && !p.capturing(op.Device)
}

func (p *Program) mayRestore(op *spec.Op) bool {
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

func (p *Program) mayReachPeer(op *spec.Op) bool { return op.Peer != op.Device }

func (p *Program) mayShare(op *spec.Op) bool {
	m := p.find(op.ID)
	return m != nil && m.size > 0 && !m.uncached && m.device == op.Device && p.handle(op.Handle) == nil
}

func (p *Program) mayOpenShared(op *spec.Op) bool {
	h := p.handle(op.Handle)
	return h != nil && p.find(h.of).device == op.Device && p.find(op.ID) == nil && !slices.Contains(p.opened, op.ID)
}

func (p *Program) mayCloseShared(op *spec.Op) bool { return slices.Contains(p.opened, op.ID) }
