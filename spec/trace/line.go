package trace

import (
	"gaugeblock/spec"
	"strconv"
)

// traceLine is a line after the header: an operation or the end. Its members are
// read before it is known which of the two it is, since the members of a JSON
// object may come in any order.
type traceLine struct {
	op      Op
	isEnd   bool
	figures map[string]int64 // "stats" when it is an object, as at the end
	columns int              // how many figures "stats" has when it is an array
}

// lineTable is every field that an operation or the end can have. Which kinds
// have which is in trace_kinds.go.
var lineTable = newJSONTable("a line", []jsonMember[traceLine]{
	{
		name:   "op",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Kind = readKind(c) },
		append: func(b []byte, l *traceLine) []byte { return appendText(b, string(l.op.Kind)) },
		absent: func(l *traceLine) bool { return l.isEnd },
	},
	{
		name: "end",
		read: func(c *jsonCursor, l *traceLine) {
			if l.isEnd = c.truth(); !l.isEnd {
				c.fail("is either true or not there")
			}
		},
		append: func(b []byte, l *traceLine) []byte { return append(b, "true"...) },
		absent: func(l *traceLine) bool { return !l.isEnd },
	},
	wholeMember("id", func(l *traceLine) *int64 { return &l.op.ID }),
	wholeMember("size", func(l *traceLine) *uint64 { return &l.op.Size }),
	wholeMember("bytes", func(l *traceLine) *uint64 { return &l.op.Size }),
	wholeMember("device", func(l *traceLine) *spec.Device { return &l.op.Device }),
	handleMember("thread", func(l *traceLine) *spec.Thread { return &l.op.Thread }),
	wholeMember("stream", func(l *traceLine) *int { return &l.op.Stream }),
	wholeMember("on", func(l *traceLine) *int { return &l.op.On }),
	wholeMember("peer", func(l *traceLine) *spec.Device { return &l.op.Peer }),
	{
		name:   "pool",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Pool = readPool(c) },
		append: func(b []byte, l *traceLine) []byte { return appendPool(b, l.op.Pool) },
		absent: func(l *traceLine) bool { return l.op.Pool.IsDefault() },
	},
	wordMember("by", func(l *traceLine) *PoolFilter { return &l.op.By }, string(ByThread), string(ByStream), string(ByCapture)),
	flagMember("use_on_oom", func(l *traceLine) *bool { return &l.op.UseOnOOM }),
	flagMember("no_split", func(l *traceLine) *bool { return &l.op.NoSplit }),
	wholeMember("state", func(l *traceLine) *int { return &l.op.State }),
	listMember("live", func(l *traceLine) *[]int64 { return &l.op.Live }, readID, appendWhole[int64]),
	listMember("freed", func(l *traceLine) *[]int64 { return &l.op.Freed }, readID, appendWhole[int64]),
	textMember("settings", func(l *traceLine) *string { return &l.op.Settings }),
	{
		name:   "fraction",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Fraction = c.float() },
		append: func(b []byte, l *traceLine) []byte { return strconv.AppendFloat(b, l.op.Fraction, 'g', -1, 64) },
		absent: func(l *traceLine) bool { return l.op.Fraction == 0 },
	},
	wholeMember("allowed", func(l *traceLine) *uint64 { return &l.op.Allowed }),
	flagMember("enabled", func(l *traceLine) *bool { return &l.op.Enabled }),
	textMember("name", func(l *traceLine) *string { return &l.op.Name }),
	listMember("reads", func(l *traceLine) *[]OpRange { return &l.op.Reads }, readRange, appendRange),
	listMember("writes", func(l *traceLine) *[]OpRange { return &l.op.Writes }, readRange, appendRange),
	wholeMember("event", func(l *traceLine) *int { return &l.op.Event }),
	wholeMember("graph", func(l *traceLine) *int { return &l.op.Graph }),
	wholeMember("handle", func(l *traceLine) *int { return &l.op.Handle }),
	{
		name:   "mode",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Mode = spec.CaptureMode(c.oneOf(captureModes...)) },
		append: func(b []byte, l *traceLine) []byte { return appendText(b, l.op.Mode.String()) },
		absent: func(l *traceLine) bool { return l.op.Mode == 0 },
	},
	{
		name:   "fault",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Fault = readFault(c) },
		append: func(b []byte, l *traceLine) []byte { return appendFault(b, l.op.Fault) },
		absent: func(l *traceLine) bool { return l.op.Fault == (spec.FaultSpec{}) },
	},
	listMember("frees", func(l *traceLine) *[]int64 { return &l.op.Frees }, readID, appendWhole[int64]),
	wholeMember("fn", func(l *traceLine) *int { return &l.op.Function }),
	wholeMember("call", func(l *traceLine) *int { return &l.op.Call }),
	listMember("inputs", func(l *traceLine) *[]TreeInput { return &l.op.Inputs }, readInput, appendInput),
	{
		name:   "output",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Output = readOutput(c) },
		append: func(b []byte, l *traceLine) []byte { return appendOutput(b, l.op.Output) },
		absent: func(l *traceLine) bool { return l.op.Output == TreeOutput{} },
	},

	// Expectations, and what was left at the end.
	{
		name: "addr",
		read: func(c *jsonCursor, l *traceLine) {
			addr := spec.Ptr(c.unsigned())
			l.op.Expect.Addr = &addr
		},
		append: func(b []byte, l *traceLine) []byte { return appendWhole(b, *l.op.Expect.Addr) },
		absent: func(l *traceLine) bool { return l.op.Expect.Addr == nil },
	},
	wordMember("error", func(l *traceLine) *string { return &l.op.Expect.Error }, errorNames...),
	textMember("message", func(l *traceLine) *string { return &l.op.Expect.Message }),
	optionalListMember("events", func(l *traceLine) *[]spec.TraceEntry { return &l.op.Expect.Entries }, readEvent, appendEvent),
	{
		name:   "stats",
		read:   readStats,
		append: appendStats,
		absent: func(l *traceLine) bool { return l.op.Expect.Stats == nil && l.figures == nil },
	},
	optionalListMember("layout", func(l *traceLine) *[]spec.Segment { return &l.op.Expect.Layout }, readSegment, appendSegment),
	{
		name:   "tree",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Expect.Tree = readTree(c) },
		append: func(b []byte, l *traceLine) []byte { return appendTree(b, l.op.Expect.Tree) },
		absent: func(l *traceLine) bool { return l.op.Expect.Tree == nil },
	},
})

var captureModes = []string{spec.CaptureGlobal.String(), spec.CaptureThreadLocal.String(), spec.CaptureRelaxed.String()}

// readKind knows the kinds of every version, so that a misspelt one is named
// before its fields are.
func readKind(c *jsonCursor) OpKind {
	c.peek()
	start := c.pos
	kind := OpKind(c.text())
	if _, known := traceKinds2[kind]; !known && !c.failed() {
		c.pos = start
		c.fail("unknown operation %q", shorten(string(kind)))
	}
	return kind
}

// readStats reads the figures after an operation, an array, or the final ones, an
// object.
func readStats(c *jsonCursor, l *traceLine) {
	if c.peek() == '{' {
		l.figures = map[string]int64{}
		readFigures(c, "", 1, l.figures)
		return
	}
	l.op.Expect.Stats = make([]int64, 0, l.columns)
	for c.open('[', "an array of figures"); c.more(']'); {
		l.op.Expect.Stats = append(l.op.Expect.Stats, c.signed())
	}
}

func appendStats(b []byte, l *traceLine) []byte {
	if l.isEnd {
		return appendFigures(b, l.figures)
	}
	return appendList(b, l.op.Expect.Stats, appendWhole[int64])
}
