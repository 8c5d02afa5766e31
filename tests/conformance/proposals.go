package conformance

import (
	"gaugeblock/spec"
)

// proposals make up an operation of each kind. It need not be one that the program
// may perform: Program.Prepare sees to that.
var proposals = map[spec.OpKind]func(g *Generator) spec.Op{
	spec.OpMalloc:       (*Generator).malloc,
	spec.OpFree:         (*Generator).free,
	spec.OpRecordStream: (*Generator).recordStream,
	spec.OpEmptyCache:   (*Generator).emptyCache,
	spec.OpSetMemoryFraction: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device(), Fraction: pick(g, []float64{1, 1, 0.75, 0.5, 0.3, 0.2, 0})}
	},
	spec.OpConfigure: func(g *Generator) spec.Op { return spec.Op{Settings: pick(g, g.area.Configures)} },
	spec.OpResetPeak: func(g *Generator) spec.Op { return spec.Op{Device: g.device()} },
	spec.OpResetAccumulated: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device()}
	},
	spec.OpEnable: func(g *Generator) spec.Op { return spec.Op{Enabled: !g.program.enabled} },
	spec.OpDeviceFree: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device(), Size: uint64(g.Intn(8)) * g.program.header.TotalMemory / 8}
	},
	spec.OpNeedMemoryCallback: func(g *Generator) spec.Op {
		op := spec.Op{Frees: []int64{g.anyMemory()}}
		if second := g.anyMemory(); second != op.Frees[0] && chance(g, 2) {
			op.Frees = append(op.Frees, second)
		}
		return op
	},

	spec.OpPoolCreate: func(g *Generator) spec.Op {
		op := spec.Op{Device: g.device(), Pool: g.anyPool()}
		if chance(g, 2) {
			op.Pool = spec.PoolID{User: uint64(max(g.program.poolIDs, 1))}
		}
		if g.area.Marks {
			op.UseOnOOM, op.NoSplit = chance(g, 3), chance(g, 4)
		}
		return op
	},
	spec.OpPoolBegin: (*Generator).poolBegin,
	spec.OpPoolEnd:   (*Generator).poolEnd,
	spec.OpPoolRelease: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device(), Pool: g.anyPool()}
	},
	spec.OpPoolDelete: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device(), Pool: g.anyPool()}
	},
	spec.OpCheckpoint: func(g *Generator) spec.Op {
		return spec.Op{Device: g.device(), Pool: g.anyPool(), State: g.program.stateIDs}
	},
	spec.OpRestore: (*Generator).restore,

	spec.OpPeerAccess: func(g *Generator) spec.Op { return spec.Op{Device: g.device(), Peer: g.device()} },
	spec.OpShare: func(g *Generator) spec.Op {
		op := spec.Op{ID: g.anyMemory(), Handle: g.program.handleIDs}
		if m := g.program.find(op.ID); m != nil {
			op.Device = m.device
		}
		return op
	},
	spec.OpOpenShared: func(g *Generator) spec.Op {
		op := spec.Op{Device: g.device(), ID: int64(g.program.ids), Handle: -1}
		if len(g.program.handles) > 0 {
			h := pick(g, g.program.handles)
			op.Handle, op.Device = h.number, g.program.find(h.of).device
		}
		return op
	},
	spec.OpCloseShared: func(g *Generator) spec.Op {
		if len(g.program.opened) == 0 {
			return spec.Op{ID: -1}
		}
		return spec.Op{ID: pick(g, g.program.opened)}
	},
}

func (g *Generator) malloc() spec.Op {
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

func (g *Generator) free() spec.Op { return spec.Op{ID: g.anyMemory()} }

func (g *Generator) recordStream() spec.Op {
	op := g.onCaptured()
	op.ID = g.anyMemory()
	return op
}

func (g *Generator) emptyCache() spec.Op {
	if g.area.Pools && chance(g, 4) {
		return spec.Op{Pool: g.anyPool()}
	}
	return spec.Op{}
}

func (g *Generator) poolBegin() spec.Op {
	op := g.on()
	op.Pool, op.By, op.Thread = g.anyPool(), spec.ByStream, g.thread()
	switch {
	case chance(g, 3):
		op.By = spec.ByThread
	case len(g.program.captures) > 0 && chance(g, 2):
		return g.redirection(pick(g, g.program.captures))
	}
	return op
}

// poolEnd prefers what was begun.
func (g *Generator) poolEnd() spec.Op {
	var begun []*poolState
	for _, q := range g.program.pools {
		if q.begun {
			begun = append(begun, q)
		}
	}
	if len(begun) == 0 {
		return spec.Op{Pool: g.anyPool()}
	}
	q := pick(g, begun)
	return spec.Op{Device: q.device, Pool: q.id}
}

func (g *Generator) restore() spec.Op {
	if g.program.stateIDs == 0 {
		return spec.Op{State: -1}
	}
	// The latest states are those of pools that are in use.
	op := spec.Op{State: g.program.stateIDs - 1 - g.Intn(min(g.program.stateIDs, 8))}
	if s := g.program.states[op.State]; s != nil {
		op.Device, op.Pool = s.pool.device, s.pool.id
	}
	return op
}
