package conformance

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A Generator makes up the operations of a program, one at a time: of a kind that
// its area has, in the area's proportions, and only what the program may do now.
type Generator struct {
	Choices
	program *Program
	area    *Area
	near    []uint64 // sizes of interest
	weights int      // sum of the area's
	next    trace.Op // room for the next operation

	// planned is what comes next, if it is not nil: the rest of something that takes several
	// operations. It makes up one of them, and plans the next.
	planned func() trace.Op
	row     row   // what is left of one, in an area with rows
	rows    []row // and those that follow
}

// misuseShare: in an area with misuse, one operation in misuseShare is wrong on purpose.
const misuseShare = 40

func newGenerator(c Choices, p *Program, area *Area) *Generator {
	g := &Generator{Choices: c, program: p, area: area}
	g.near = boundaries(p.header.Geometry, area.Sizes...)
	for _, k := range area.Kinds {
		g.weights += k.Weight
	}
	return g
}

// Next is the next operation, prepared.
func (g *Generator) Next() trace.Op {
	g.make(&g.next)
	return g.next
}

// make makes the next operation where it is going to be: one is large.
func (g *Generator) make(op *trace.Op) {
	const attempts = 50
	for range attempts {
		planned := g.planned != nil
		*op = g.propose()
		if !planned {
			g.beside(op)
		}
		if g.program.Prepare(op) {
			return
		}
		g.planned = nil
	}
	*op = g.fallback()
}

// fallback is an operation that is always possible. If a capture was just begun, its requests
// have to be routed to a pool first.
func (g *Generator) fallback() trace.Op {
	op := trace.Op{Kind: trace.OpKernel}
	if k := g.program.unrouted; k != nil {
		op = g.route(k)
	}
	g.program.Prepare(&op)
	return op
}

// route routes the requests of a capture to a new pool.
func (g *Generator) route(k *captureState) trace.Op {
	return trace.Op{
		Kind: trace.OpPoolBegin, Device: k.device, Stream: g.program.streams[k.origin].index,
		By: trace.ByCapture, Pool: spec.PoolID{Capture: uint64(max(g.program.poolIDs, 1))},
	}
}

// plan returns the first of several operations, and plans the others behind it.
func (g *Generator) plan(ops ...trace.Op) trace.Op {
	if len(ops) > 1 {
		g.planned = func() trace.Op { return g.plan(ops[1:]...) }
	}
	return ops[0]
}

func (g *Generator) propose() trace.Op {
	if g.program.unrouted != nil {
		return g.route(g.program.unrouted)
	}
	if next := g.planned; next != nil {
		g.planned = nil
		return next()
	}
	if len(g.area.Misuse) > 0 && chance(g, misuseShare) {
		kind := pick(g, g.area.Misuse)
		misuse := kindOf(kind).misuse
		op := misuse.propose(g)
		op.Kind, op.Expect.Error = kind, misuse.answer
		return op
	}
	if g.row.left == 0 && len(g.rows) > 0 {
		g.row, g.rows = g.rows[0], g.rows[1:]
	}
	if g.row.left > 0 {
		return g.inRow()
	}
	kind := g.kind()
	if g.area.Rows && slices.Contains(inRows, kind) {
		return g.beginRow(kind)
	}
	op := g.program.kind(kind).propose(g)
	if op.Kind == "" {
		op.Kind = kind
	}
	return op
}

// kind draws one in the area's proportions. A program that holds much frees more
// than it asks for.
func (g *Generator) kind() trace.OpKind {
	if len(g.program.memory) > g.area.Live && !chance(g, 4) {
		return trace.OpFree
	}
	n := g.Intn(g.weights)
	at := slices.IndexFunc(g.area.Kinds, func(k Share) bool {
		n -= k.Weight
		return n < 0
	})
	return g.area.Kinds[at].Kind
}

func (g *Generator) device() spec.Device { return spec.Device(g.Intn(g.program.header.Devices)) }

// on draws a stream and the device that it is of.
func (g *Generator) on() trace.Op {
	s := &g.program.streams[g.Intn(len(g.program.streams))]
	return trace.Op{Device: s.device, Stream: s.index}
}

// onCaptured is a stream that is being captured, every other time if any is.
func (g *Generator) onCaptured() trace.Op {
	if k := g.program.captures; len(k) > 0 && chance(g, 2) {
		s := &g.program.streams[pick(g, pick(g, k).members)]
		return trace.Op{Device: s.device, Stream: s.index}
	}
	return g.on()
}

func (g *Generator) thread() spec.Thread {
	if g.area.Threads == 0 {
		return 0
	}
	return spec.Thread(g.Intn(g.area.Threads))
}

// anyMemory is the number of an allocation, or one that means nothing.
func (g *Generator) anyMemory() int64 {
	from := g.candidates()
	if len(from) == 0 {
		return -1
	}
	return pick(g, from).id
}

// candidates are the allocations; every other time, if there are such, only those made
// in a capture that is under way.
func (g *Generator) candidates() []*memory {
	if k := g.program.captures; len(k) > 0 && chance(g, 2) {
		if inside := g.program.allocatedIn(pick(g, k)); len(inside) > 0 {
			return inside
		}
	}
	if have := g.program.memory; g.area.Turns {
		n := slices.IndexFunc(have, func(m *memory) bool { return m.slot != have[0].slot })
		return have[:max(n, min(len(have), 1))]
	}
	return g.program.memory
}

// anyPool is a pool that is, or was, or is not yet.
func (g *Generator) anyPool() spec.PoolID {
	n := g.program.poolIDs
	if len(g.program.pools) > 0 && !chance(g, 8) {
		// The latest are those that are in use.
		at := len(g.program.pools) - 1 - g.Intn(min(len(g.program.pools), 6))
		return g.program.pools[at].id
	}
	return spec.PoolID{User: uint64(max(n, 1))}
}
