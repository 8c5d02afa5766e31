package trace

import (
	"maps"
	"slices"
	"strconv"

	"gaugeblock/spec"
)

// The values in a trace that are neither numbers nor words: each is read and
// written here, side by side.

func appendWhole[N ~int | ~int64 | ~uint64](b []byte, n N) []byte {
	if n < 0 {
		return strconv.AppendInt(b, int64(n), 10)
	}
	return strconv.AppendUint(b, uint64(n), 10)
}

// readList reads an array; an empty one gives a slice that is not nil.
func readList[E any](c *jsonCursor, read func(*jsonCursor) E) []E {
	elements := []E{}
	for c.open('[', "an array"); c.more(']'); {
		elements = append(elements, read(c))
	}
	return elements
}

func appendList[E any](b []byte, elements []E, write func([]byte, E) []byte) []byte {
	b = append(b, '[')
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = write(b, e)
	}
	return append(b, ']')
}

// appendTuple appends an array of numbers.
func appendTuple(b []byte, numbers ...uint64) []byte {
	return appendList(b, numbers, appendWhole[uint64])
}

func readID(c *jsonCursor) int64 { return int64(c.size()) }

// A pool is a pair of numbers.

const poolForm = "a pool [n, n]"

func readPool(c *jsonCursor) (id spec.PoolID) {
	c.open('[', poolForm)
	c.item(poolForm)
	id.Capture = c.unsigned()
	c.item(poolForm)
	id.User = c.unsigned()
	c.noMore(poolForm)
	return id
}

func appendPool(b []byte, id spec.PoolID) []byte { return appendTuple(b, id.Capture, id.User) }

// A range is a part of an allocation.

const rangeForm = "a range [id, offset, bytes]"

func readRange(c *jsonCursor) (r OpRange) {
	c.open('[', rangeForm)
	c.item(rangeForm)
	r.ID = readID(c)
	c.item(rangeForm)
	r.Offset = c.size()
	c.item(rangeForm)
	r.Bytes = c.size()
	c.noMore(rangeForm)
	return r
}

func appendRange(b []byte, r OpRange) []byte {
	return appendTuple(b, uint64(r.ID), r.Offset, r.Bytes)
}

// An event is what an allocator did. The recorder of version 1 may add the pool
// as a fifth element; an Event has no place for it.

const eventForm = "an event [action, address, size, stream handle]"

func readEvent(c *jsonCursor) (e spec.TraceEntry) {
	c.open('[', eventForm)
	c.item(eventForm)
	e.Action = spec.Action(c.oneOf(spec.ActionNames()...))
	c.item(eventForm)
	e.Addr = spec.Ptr(c.unsigned())
	c.item(eventForm)
	e.Size = c.size()
	c.item(eventForm)
	e.Stream = spec.Stream(c.unsigned())
	if c.more(']') {
		readPool(c)
		c.noMore(eventForm)
	}
	return e
}

func appendEvent(b []byte, e spec.TraceEntry) []byte {
	b = appendText(append(b, '['), e.Action.String())
	b = appendWhole(append(b, ','), e.Addr)
	b = appendWhole(append(b, ','), e.Size)
	b = appendWhole(append(b, ','), e.Stream)
	return append(b, ']')
}

// A place is where the driver put a segment or an address range.

const placeForm = "a place [address, bytes]"

func readPlace(c *jsonCursor) (r spec.Range) {
	c.peek()
	start := c.pos
	c.open('[', placeForm)
	c.item(placeForm)
	r.Ptr = spec.Ptr(c.unsigned())
	c.item(placeForm)
	r.Bytes = c.size()
	c.noMore(placeForm)
	if !c.failed() && (r.Ptr == 0 || r.Bytes == 0 || r.End() < r.Ptr) {
		c.pos = start
		c.fail("a place has an address and bytes, and ends below 2^64")
	}
	return r
}

func appendPlace(b []byte, r spec.Range) []byte { return appendTuple(b, uint64(r.Ptr), r.Bytes) }

// A layout is the segments that an allocator holds, each with its blocks.

const blockForm = "a block [address, size, requested size, state]"

func readBlock(c *jsonCursor) (k spec.Block) {
	c.open('[', blockForm)
	c.item(blockForm)
	k.Address = spec.Ptr(c.unsigned())
	c.item(blockForm)
	k.Size = c.size()
	c.item(blockForm)
	k.RequestedSize = c.size()
	c.item(blockForm)
	k.State = spec.BlockState(c.oneOf(spec.BlockStateNames()...))
	c.noMore(blockForm)
	return k
}

func appendBlock(b []byte, k spec.Block) []byte {
	b = appendWhole(append(b, '['), k.Address)
	b = appendWhole(append(b, ','), k.Size)
	b = appendWhole(append(b, ','), k.RequestedSize)
	b = appendText(append(b, ','), stateName(k.State))
	return append(b, ']')
}

// stateName is String for values that may be none of the constants.
func stateName(s spec.BlockState) string {
	if int(s) < len(spec.BlockStateNames()) {
		return s.String()
	}
	return "unknown"
}

var segmentTable = newJSONTable("a segment", []jsonMember[spec.Segment]{
	wholeMember("device", func(g *spec.Segment) *spec.Device { return &g.Device }),
	handleMember("addr", func(g *spec.Segment) *spec.Ptr { return &g.Address }),
	wholeMember("size", func(g *spec.Segment) *uint64 { return &g.TotalSize }),
	handleMember("stream", func(g *spec.Segment) *spec.Stream { return &g.Stream }),
	{
		name:   "type",
		read:   func(c *jsonCursor, g *spec.Segment) { g.PoolKind = spec.PoolKind(c.oneOf(poolKindNames...)) },
		append: func(b []byte, g *spec.Segment) []byte { return appendText(b, g.PoolKind.String()) },
		absent: func(*spec.Segment) bool { return false },
	},
	{
		name:   "pool",
		read:   func(c *jsonCursor, g *spec.Segment) { g.Pool = readPool(c) },
		append: func(b []byte, g *spec.Segment) []byte { return appendPool(b, g.Pool) },
		absent: func(g *spec.Segment) bool { return g.Pool.IsDefault() },
	},
	flagMember("expandable", func(g *spec.Segment) *bool { return &g.Expandable }),
	wholeMember("allocated", func(g *spec.Segment) *uint64 { return &g.AllocatedSize }),
	wholeMember("active", func(g *spec.Segment) *uint64 { return &g.ActiveSize }),
	wholeMember("requested", func(g *spec.Segment) *uint64 { return &g.RequestedSize }),
	listMember("blocks", func(g *spec.Segment) *[]spec.Block { return &g.Blocks }, readBlock, appendBlock),
})

var poolKindNames = []string{spec.SmallPool.String(), spec.LargePool.String()}

var segmentMust = segmentTable.all() &^ segmentTable.set("device")

func readSegment(c *jsonCursor) (g spec.Segment) {
	segmentTable.readWhole(c, &g, segmentMust)
	return g
}

func appendSegment(b []byte, g spec.Segment) []byte {
	return segmentTable.write(b, &g, segmentMust, segmentTable.all())
}

// What a graph tree function is called with, and what comes out of it.

const outputForm = "an output [call, index]"

func readOutput(c *jsonCursor) (o TreeOutput) {
	c.open('[', outputForm)
	c.item(outputForm)
	o.Call = int(c.size())
	c.item(outputForm)
	o.Index = int(c.size())
	c.noMore(outputForm)
	return o
}

func appendOutput(b []byte, o TreeOutput) []byte {
	return appendTuple(b, uint64(o.Call), uint64(o.Index))
}

var inputTable = newJSONTable("an input", []jsonMember[TreeInput]{
	wholeMember("fresh", func(in *TreeInput) *uint64 { return &in.Fresh }),
	{
		name: "output",
		read: func(c *jsonCursor, in *TreeInput) {
			o := readOutput(c)
			in.Output = &o
		},
		append: func(b []byte, in *TreeInput) []byte { return appendOutput(b, *in.Output) },
		absent: func(in *TreeInput) bool { return in.Output == nil },
	},
	flagMember("consume", func(in *TreeInput) *bool { return &in.Consume }),
})

func readInput(c *jsonCursor) (in TreeInput) {
	switch inputTable.read(c, &in) {
	case inputTable.set("fresh"), inputTable.set("output"), inputTable.set("output consume"):
	default:
		c.fail("an input is either fresh, or an output that may be consumed")
	}
	return in
}

func appendInput(b []byte, in TreeInput) []byte {
	if in.Output == nil && !in.Consume {
		return inputTable.write(b, &in, inputTable.set("fresh"), 0)
	}
	return inputTable.write(b, &in, 0, inputTable.all())
}

// Final statistics are keyed as torch.cuda.memory_stats keys them. They may be
// nested, as torch.cuda.memory_stats_as_nested_dict nests them: the keys on the
// way are then joined by dots. They are written flat, in order.

// Names are joined, so a short line with a long name around many others could
// become a lot of memory: both levels and length are bounded, far above PyTorch's
// three levels and 40 bytes.
const (
	maxStatDepth = 4
	maxStatName  = 200
)

func readFinalStats(c *jsonCursor, prefix string, depth int, stats map[string]int64) {
	for c.open('{', "an object of statistics"); c.more('}'); {
		name := c.key()
		if c.failed() {
			return
		}
		full := prefix + name
		c.path = append(c.path, shorten(name))
		switch _, twice := stats[full]; {
		case len(full) > maxStatName:
			c.fail("a name longer than %d bytes", maxStatName)
		case twice:
			c.fail("the statistic is there twice")
		case c.peek() != '{':
			stats[full] = c.signed()
		case depth == maxStatDepth:
			c.fail("nested more than %d deep", maxStatDepth)
		default:
			readFinalStats(c, full+".", depth+1, stats)
		}
		c.path = c.path[:len(c.path)-1]
	}
}

func appendFinalStats(b []byte, stats map[string]int64) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(stats)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		b = strconv.AppendInt(b, stats[name], 10)
	}
	return append(b, '}')
}
