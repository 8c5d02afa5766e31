package conformance

import (
	"gaugeblock/spec/trace"
)

// Misuse: what a program does that has lost count of its things. It must be
// refused, with an error of the right type, and nothing may change: neither a
// figure nor the picture of the memory. Some of it is an operation of a trace (end
// what was not begun); an operation on memory that is not out is none, since a
// trace cannot name such memory, so it is tried at the side (probe.go).

// misuse is one that is an operation.
type misuse struct {
	// propose makes up one that may be wrong now.
	propose func(g *Generator) trace.Op
	// wrong reports whether it is.
	wrong func(p *Program, op *trace.Op) bool
	// answer is the name of the error, see spec.ErrorName.
	answer string
}

// misuses are the kinds of operation that can be one.
var misuses = map[trace.OpKind]misuse{
	trace.OpPoolEnd: {
		propose: func(g *Generator) trace.Op { return trace.Op{Pool: g.anyPool()} },
		wrong: func(p *Program, op *trace.Op) bool {
			q := p.pool(op.Device, op.Pool)
			return q == nil || !q.begun
		},
		answer: trace.ErrorInvalidState,
	},
	trace.OpPoolBegin: {
		propose: func(g *Generator) trace.Op { return trace.Op{Pool: g.anyPool(), By: trace.ByThread} },
		wrong: func(p *Program, op *trace.Op) bool {
			q := p.pool(op.Device, op.Pool)
			return q != nil && q.begun
		},
		answer: trace.ErrorInvalidState,
	},
	trace.OpPoolRelease: {
		propose: func(g *Generator) trace.Op { return trace.Op{Pool: g.anyPool()} },
		wrong: func(p *Program, op *trace.Op) bool {
			q := p.pool(op.Device, op.Pool)
			return q == nil || q.useCount == 0
		},
		answer: trace.ErrorInvalidState,
	},
	trace.OpPoolCreate: {
		propose: func(g *Generator) trace.Op { return trace.Op{} },
		wrong:   func(p *Program, op *trace.Op) bool { return op.Pool.IsDefault() },
		answer:  trace.ErrorInvalidArgument,
	},
	trace.OpCheckpoint: {
		propose: func(g *Generator) trace.Op { return trace.Op{Pool: g.anyPool(), State: g.program.stateIDs} },
		wrong: func(p *Program, op *trace.Op) bool {
			q := p.pool(op.Device, op.Pool)
			_, taken := p.states[op.State]
			return (q == nil || q.useCount == 0) && !taken
		},
		answer: trace.ErrorInvalidState,
	},
	trace.OpSetMemoryFraction: {
		propose: func(g *Generator) trace.Op { return trace.Op{Fraction: 1.5} },
		wrong:   func(p *Program, op *trace.Op) bool { return op.Fraction > 1 },
		answer:  trace.ErrorInvalidArgument,
	},
	trace.OpPeerAccess: {
		propose: func(g *Generator) trace.Op { return trace.Op{} },
		wrong:   func(p *Program, op *trace.Op) bool { return op.Peer == op.Device },
		answer:  trace.ErrorInvalidArgument,
	},
}
