package trace

import (
	"gaugeblock/spec"
)

// traceLine is a line after the header: an operation or the end. Its members are
// read before it is known which of the two it is, since the members of a JSON
// object may come in any order.
type traceLine struct {
	op      Op
	isEnd   bool
	final   map[string]int64 // "stats" when it is an object, as at the end
	columns int              // how many statistics "stats" has when it is an array
}

var captureModes = []string{spec.CaptureGlobal.String(), spec.CaptureThreadLocal.String(), spec.CaptureRelaxed.String()}

// readKind knows the kinds of every version, so that a misspelt one is named
// before its fields are.
func readKind(c *jsonCursor) OpKind {
	c.peek()
	start := c.pos
	kind := OpKind(c.text())
	if kinds[kind] == nil && !c.failed() {
		c.pos = start
		c.fail("unknown operation %q", shorten(string(kind)))
	}
	return kind
}

// readStats reads the statistics after an operation, an array, or the final ones, an
// object.
func readStats(c *jsonCursor, l *traceLine) {
	if c.peek() == '{' {
		l.final = map[string]int64{}
		readFinalStats(c, "", 1, l.final)
		return
	}
	l.op.Expect.Stats = make([]int64, 0, l.columns)
	for c.open('[', "an array of statistics"); c.more(']'); {
		l.op.Expect.Stats = append(l.op.Expect.Stats, c.signed())
	}
}

func appendStats(b []byte, l *traceLine) []byte {
	if l.isEnd {
		return appendFinalStats(b, l.final)
	}
	return appendList(b, l.op.Expect.Stats, appendWhole[int64])
}
