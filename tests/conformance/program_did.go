package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/settings"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/replay"
)

// Did takes note of an operation that was performed. One that failed changed
// nothing, except that a pool which could not be emptied was released before.
func (p *Program) Did(op *trace.Op, out *replay.Performed) {
	for _, id := range out.Freed {
		p.forget(id)
	}
	if out.Err != nil && op.Kind == trace.OpPoolDelete && op.Expect.Error == "" {
		p.released(op)
	}
	if out.Err != nil || out.Skipped {
		return
	}
	switch op.Kind {
	case trace.OpMalloc:
		p.given(op, out.Ptr)
	case trace.OpFree:
		p.forget(op.ID)
	case trace.OpRecordStream:
		p.recorded(op)
	case trace.OpConfigure:
		p.config, _ = settings.Apply(p.config, op.Settings, p.header.Geometry)
	case trace.OpEnable:
		p.enabled = op.Enabled
	case trace.OpNeedMemoryCallback:
		for _, id := range op.Frees {
			p.find(id).lent = true
		}
	case trace.OpPeerAccess:
		p.peers = append(p.peers, [2]spec.Device{op.Device, op.Peer})
	case trace.OpShare, trace.OpOpenShared, trace.OpCloseShared:
		p.didShare(op)
	case trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete,
		trace.OpCheckpoint, trace.OpRestore:
		p.didPool(op)
	default:
		p.didDevice(op)
	}
}

func (p *Program) given(op *trace.Op, ptr spec.Ptr) {
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

func (p *Program) recorded(op *trace.Op) {
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
func (p *Program) didShare(op *trace.Op) {
	switch op.Kind {
	case trace.OpShare:
		p.find(op.ID).shared = true
		p.handles = append(p.handles, handle{op.Handle, op.ID})
		p.handleIDs = max(p.handleIDs, op.Handle+1)
	case trace.OpOpenShared:
		p.opened = append(p.opened, op.ID)
		p.ids = max(p.ids, int(op.ID)+1)
	case trace.OpCloseShared:
		p.opened = slices.DeleteFunc(p.opened, func(id int64) bool { return id == op.ID })
	}
}

func (p *Program) didPool(op *trace.Op) {
	switch op.Kind {
	case trace.OpPoolCreate:
		p.created(op)
	case trace.OpPoolBegin:
		q := p.created(op)
		q.begun, q.by, q.thread, q.slot = true, op.By, op.Thread, p.slot(op.Device, op.Stream)
		q.since = 0
		for _, o := range p.pools {
			if o != q && o.begun {
				q.since = max(q.since, o.since+1)
			}
		}
		q.of, p.orphan = nil, nil
		if op.By == trace.ByCapture {
			q.of = p.streams[q.slot].capture
		}
	case trace.OpPoolEnd:
		p.pool(op.Device, op.Pool).begun = false
	case trace.OpPoolRelease, trace.OpPoolDelete:
		p.released(op)
	case trace.OpCheckpoint:
		p.saved(op)
	case trace.OpRestore:
		p.restored(op)
	}
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

func (p *Program) released(op *trace.Op) { p.pool(op.Device, op.Pool).useCount-- }

func (p *Program) saved(op *trace.Op) {
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
func (p *Program) restored(op *trace.Op) {
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
