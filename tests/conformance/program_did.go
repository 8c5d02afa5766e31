package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// Did takes note of an operation that was performed. One that failed changed
// nothing, except that a pool which could not be emptied was released before.
func (p *Program) Did(op *spec.Op, out *replay.Performed) {
	for _, id := range out.Freed {
		p.forget(id)
	}
	if out.Err != nil && op.Kind == spec.OpPoolDelete && op.Expect.Error == "" {
		p.released(op)
	}
	if out.Err != nil || out.Skipped {
		return
	}
	switch op.Kind {
	case spec.OpMalloc:
		p.given(op, out.Ptr)
	case spec.OpFree:
		p.forget(op.ID)
	case spec.OpRecordStream:
		p.recorded(op)
	case spec.OpConfigure:
		p.config, _ = spec.ApplySettings(p.config, op.Settings, p.header.Geometry)
	case spec.OpEnable:
		p.enabled = op.Enabled
	case spec.OpNeedMemoryCallback:
		for _, id := range op.Frees {
			p.find(id).lent = true
		}
	case spec.OpPeerAccess:
		p.peers = append(p.peers, [2]spec.Device{op.Device, op.Peer})
	case spec.OpShare, spec.OpOpenShared, spec.OpCloseShared:
		p.didShare(op)
	case spec.OpPoolCreate, spec.OpPoolBegin, spec.OpPoolEnd, spec.OpPoolRelease, spec.OpPoolDelete,
		spec.OpCheckpoint, spec.OpRestore:
		p.didPool(op)
	default:
		p.didDevice(op)
	}
}

func (p *Program) given(op *spec.Op, ptr spec.Ptr) {
	p.ids = max(p.ids, int(op.ID)+1)
	m := &memory{
		id: op.ID, device: op.Device, slot: p.slot(op.Device, op.Stream), size: op.Size, ptr: ptr,
		uncached: !p.enabled && op.Size > 0,
	}
	m.givenIn = p.streams[m.slot].capture
	m.ready, m.readyIn = 1<<m.slot, 1<<m.slot
	if op.Size > 0 && p.enabled {
		m.pool = p.diverted(op)
		m.pool.serve(m.givenIn != nil)
	}
	p.memory = append(p.memory, m)
}

func (p *Program) recorded(op *spec.Op) {
	m, slot := p.find(op.ID), p.slot(op.Device, op.Stream)
	u := use{slot, p.streams[slot].capture != nil}
	if slot == m.slot {
		return
	}
	m.taken = m.taken || p.redirected(m.device) && !u.captured
	if slices.Contains(m.uses, u) {
		return
	}
	m.uses = append(m.uses, u)
	if m.pool != nil {
		m.pool.used = true
	}
}

// didShare: a handle can be opened as long as its memory is out.
func (p *Program) didShare(op *spec.Op) {
	switch op.Kind {
	case spec.OpShare:
		p.find(op.ID).shared = true
		p.handles = append(p.handles, handle{op.Handle, op.ID})
		p.handleIDs = max(p.handleIDs, op.Handle+1)
	case spec.OpOpenShared:
		p.opened = append(p.opened, op.ID)
		p.ids = max(p.ids, int(op.ID)+1)
	case spec.OpCloseShared:
		p.opened = slices.DeleteFunc(p.opened, func(id int64) bool { return id == op.ID })
	}
}

func (p *Program) didPool(op *spec.Op) {
	switch op.Kind {
	case spec.OpPoolCreate:
		p.created(op)
	case spec.OpPoolBegin:
		q := p.created(op)
		q.begun, q.by, q.thread, q.slot = true, op.By, op.Thread, p.slot(op.Device, op.Stream)
		q.since = 0
		for _, o := range p.pools {
			if o != q && o.begun {
				q.since = max(q.since, o.since+1)
			}
		}
		q.of, p.orphan = nil, nil
		if op.By == spec.ByCapture {
			q.of = p.streams[q.slot].capture
		}
	case spec.OpPoolEnd:
		p.pool(op.Device, op.Pool).begun = false
	case spec.OpPoolRelease, spec.OpPoolDelete:
		p.released(op)
	case spec.OpCheckpoint:
		p.saved(op)
	case spec.OpRestore:
		p.restored(op)
	}
}

// created adds a use to a pool, which is made if need be.
func (p *Program) created(op *spec.Op) *poolState {
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

func (p *Program) released(op *spec.Op) { p.pool(op.Device, op.Pool).useCount-- }

func (p *Program) saved(op *spec.Op) {
	s := &savedState{pool: p.pool(op.Device, op.Pool)}
	for _, m := range p.memory {
		if m.pool == s.pool {
			s.live = append(s.live, *m)
		}
	}
	p.states[op.State] = s
	p.stateIDs = max(p.stateIDs, op.State+1)
}

// restored: what was out in the pool and was not at the checkpoint is gone, and what
// was out then is again, without the streams that were recorded for it.
func (p *Program) restored(op *spec.Op) {
	for _, id := range op.Freed {
		p.forget(id)
	}
	for _, m := range p.states[op.State].live {
		m.uses, m.taken = nil, false
		m.ready, m.givenIn = 1<<m.slot, nil
		p.forget(m.id)
		p.memory = append(p.memory, &m)
	}
}
