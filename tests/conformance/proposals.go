package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// proposals make up an operation of each kind. It need not be one that the program
// may perform: Program.Prepare sees to that.
var proposals = map[trace.OpKind]func(g *Generator) trace.Op{
	trace.OpMalloc:       (*Generator).malloc,
	trace.OpFree:         (*Generator).free,
	trace.OpRecordStream: (*Generator).recordStream,
	trace.OpEmptyCache:   (*Generator).emptyCache,
	trace.OpSetMemoryFraction: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device(), Fraction: pick(g, []float64{1, 1, 0.75, 0.5, 0.3, 0.2, 0})}
	},
	trace.OpConfigure: func(g *Generator) trace.Op { return trace.Op{Settings: pick(g, g.area.Configures)} },
	trace.OpResetPeak: func(g *Generator) trace.Op { return trace.Op{Device: g.device()} },
	trace.OpResetAccumulated: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device()}
	},
	trace.OpEnable: func(g *Generator) trace.Op { return trace.Op{Enabled: !g.program.enabled} },
	trace.OpDeviceFree: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device(), Size: uint64(g.Intn(8)) * g.program.header.TotalMemory / 8}
	},
	trace.OpNeedMemoryCallback: func(g *Generator) trace.Op {
		op := trace.Op{Frees: []int64{g.anyMemory()}}
		if second := g.anyMemory(); second != op.Frees[0] && chance(g, 2) {
			op.Frees = append(op.Frees, second)
		}
		return op
	},

	trace.OpPoolCreate: func(g *Generator) trace.Op {
		op := trace.Op{Device: g.device(), Pool: g.anyPool()}
		if chance(g, 2) {
			op.Pool = spec.PoolID{User: uint64(max(g.program.poolIDs, 1))}
		}
		if g.area.Marks {
			op.UseOnOOM, op.NoSplit = chance(g, 3), chance(g, 4)
		}
		return op
	},
	trace.OpPoolBegin: (*Generator).poolBegin,
	trace.OpPoolEnd:   (*Generator).poolEnd,
	trace.OpPoolRelease: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device(), Pool: g.anyPool()}
	},
	trace.OpPoolDelete: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device(), Pool: g.anyPool()}
	},
	trace.OpCheckpoint: func(g *Generator) trace.Op {
		return trace.Op{Device: g.device(), Pool: g.anyPool(), State: g.program.stateIDs}
	},
	trace.OpRestore: (*Generator).restore,

	trace.OpPeerAccess: func(g *Generator) trace.Op { return trace.Op{Device: g.device(), Peer: g.device()} },
	trace.OpShare: func(g *Generator) trace.Op {
		op := trace.Op{ID: g.anyMemory(), Handle: g.program.handleIDs}
		if m := g.program.find(op.ID); m != nil {
			op.Device = m.device
		}
		return op
	},
	trace.OpOpenShared: func(g *Generator) trace.Op {
		op := trace.Op{Device: g.device(), ID: int64(g.program.ids), Handle: -1}
		if len(g.program.handles) > 0 {
			h := pick(g, g.program.handles)
			op.Handle, op.Device = h.number, g.program.find(h.of).device
		}
		return op
	},
	trace.OpCloseShared: func(g *Generator) trace.Op {
		if len(g.program.opened) == 0 {
			return trace.Op{ID: -1}
		}
		return trace.Op{ID: pick(g, g.program.opened)}
	},
}

func (g *Generator) malloc() trace.Op {
	op := g.onCaptured()
	op.Thread = g.thread()
	op.ID = int64(g.program.ids)
	switch {
	case chance(g, 200):
		op.Size = 0
	case chance(g, 1000):
		op.Size = spec.EiB
	default:
		op.Size = size(g, g.program.header.Geometry, g.near, g.program.header.TotalMemory/2)
	}
	return op
}

func (g *Generator) free() trace.Op { return trace.Op{ID: g.anyMemory()} }

func (g *Generator) recordStream() trace.Op {
	op := g.onCaptured()
	op.ID = g.anyMemory()
	return op
}

func (g *Generator) emptyCache() trace.Op {
	if g.area.Pools && chance(g, 4) {
		return trace.Op{Pool: g.anyPool()}
	}
	return trace.Op{}
}

func (g *Generator) poolBegin() trace.Op {
	op := g.on()
	op.Pool, op.By, op.Thread = g.anyPool(), trace.ByStream, g.thread()
	switch {
	case chance(g, 3):
		op.By = trace.ByThread
	case len(g.program.captures) > 0 && chance(g, 2):
		return g.redirection(pick(g, g.program.captures))
	}
	return op
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
