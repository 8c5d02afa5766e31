package conformance

import "gaugeblock/spec/trace"

// Rows: in an area with Rows, requests, uses and frees come one after the other, many of a kind. So a table, a slab
// or a counter of the allocator is filled to its end, which requests of mixed sizes and streams hardly ever do.

// row is what is left of one: operations of one kind, on one stream, requests of one size.
type row struct {
	op     trace.Op
	left   int
	length int // of requests
	from   int // the allocations that it is about: 0 the oldest first, 1 the newest, 2 any

	size uint64 // of the latest requests: others of that size may follow, on another stream
	uses bool   // a kernel uses what was allocated, before the next request
	used bool   // it was the latest operation of the row
}

// inRows are the kinds of operations that come in rows.
var inRows = []trace.OpKind{trace.OpMalloc, trace.OpKernel, trace.OpFree, trace.OpFreeOn}

// beginRow draws a row of a kind.
func (g *Generator) beginRow(kind trace.OpKind) trace.Op {
	on, before := g.on(), g.row.size
	g.row = row{op: trace.Op{Kind: kind, Device: on.Device, Stream: on.Stream}, from: g.Intn(3), size: before}
	have := len(g.program.memory)
	switch kind {
	case trace.OpMalloc:
		if before == 0 || !chance(g, 3) {
			g.row.size = g.rowSize()
		}
		g.row.op.Size = g.row.size
		g.row.left = g.rowLength(g.row.op.Size)
		if g.row.uses = chance(g, 4); g.row.uses {
			g.row.left = min(g.row.left, 40)
		}
		g.row.length = g.row.left
	case trace.OpKernel:
		g.row.left = 1 + g.Intn(min(have+1, pick(g, []int{24, 128})))
		if chance(g, 2) { // the work lasts
			on.Kind = trace.OpBusy
			return on
		}
	case trace.OpFree, trace.OpFreeOn:
		g.row.left = 1 + g.Intn(have+1)
		if chance(g, 3) {
			g.row.left = have
		}
	}
	return g.inRow()
}

// rowSize is a power of two from 512 bytes to 2 MiB, or anything up to the next.
func (g *Generator) rowSize() uint64 {
	size := uint64(1) << (9 + g.Intn(13))
	if chance(g, 3) {
		return size
	}
	return size + uint64(g.Intn(int(size)))
}

// rowLength is how many requests of a size come one after the other: as many as fill a chunk of 1 to 32 MiB and a
// few more, or a table, a mask or a counter of 32 to 256, or any number.
func (g *Generator) rowLength(size uint64) int {
	const most = 300
	switch {
	case size <= 4096 && chance(g, 3):
		return 257 + g.Intn(most-257)
	case chance(g, 5):
		return 1 << (5 + g.Intn(4))
	}
	if n := int(uint64(1)<<(20+g.Intn(6))/size) + 1 + g.Intn(8); n < most && (n < most/2 || chance(g, 3)) {
		return n
	}
	if chance(g, 4) {
		return 130 + g.Intn(most-130)
	}
	return 4 + g.Intn(60)
}

// afterRequests plans what follows a row of requests, now and then: the cache is emptied; or another stream uses
// what was allocated, and before that is over it is freed, and as much allocated again and used.
func (g *Generator) afterRequests() {
	const long = 64 // what follows more of them fills a list of what is not over yet
	switch n := g.row.length; {
	case n <= long && chance(g, 4):
		g.planned = func() trace.Op { return trace.Op{Kind: trace.OpEmptyCache} }
	case len(g.rows) == 0 && (n > long || chance(g, 2)):
		again, on := g.row, g.on()
		for tries := 4; tries > 0 && on.Stream == again.op.Stream; tries-- {
			on = g.on()
		}
		n = min(n, 100)
		again.left, again.uses = n, true
		uses, frees := on, on
		uses.Kind, frees.Kind = trace.OpKernel, pick(g, []trace.OpKind{trace.OpFree, trace.OpFreeOn})
		g.rows = []row{{op: uses, left: n, from: 1, size: again.size}, {op: frees, left: n, from: 1, size: again.size}, again}
		on.Kind = trace.OpBusy
		g.planned = func() trace.Op { return on }
	}
}

// inRow is the next operation of the row.
func (g *Generator) inRow() trace.Op {
	op, have := g.row.op, g.program.memory
	if g.row.used = !g.row.used && g.row.uses; g.row.used && len(have) > 0 {
		m := have[len(have)-1]
		return g.useOn(m.id, g.slotOf(m.device))
	}
	g.row.left--
	if op.Kind == trace.OpMalloc {
		if g.row.left == 0 {
			g.afterRequests()
		}
		op.ID = int64(g.program.ids)
		return g.called(op)
	}
	if len(have) == 0 {
		g.row.left = 0
		return gone
	}
	at := []int{0, len(have) - 1, g.Intn(len(have))}[g.row.from]
	slot := g.program.slot(op.Device, op.Stream)
	switch op.Kind {
	case trace.OpKernel:
		if g.row.from < 2 { // each another one
			at = (at + len(have) + (1-2*g.row.from)*(g.row.left%len(have))) % len(have)
		}
		return g.useOn(have[at].id, slot)
	case trace.OpFreeOn:
		if have[at].device == op.Device && g.area.contract.Uses == UsesBeforeFree {
			return g.freeFrom(have[at].id, slot)
		}
	}
	if g.area.contract.Uses == UsesRecorded {
		return trace.Op{Kind: trace.OpFree, ID: have[at].id}
	}
	return g.freeFrom(have[at].id, have[at].slot)
}
