package trace

import (
	"fmt"
	"io"
	"os"

	"gaugeblock/spec"
)

// A Reader reads a trace operation by operation. It is not for use by
// several goroutines at once.
type Reader struct {
	name   string
	lines  *lineReader
	file   *os.File // to be closed, or nil
	line   int      // the number of the line that was read last
	header *Header
	refs   *references
	graphs int // captures that ended, for version 1
	end    *End
	room   *lineRoom // of each line, if they are not kept: Reuse
	ahead  *Op       // the first operation, if it was read with the header
	err    error     // what Next returns from now on
}

// Open opens a trace file, compressed or not; "-" is standard input. What is
// wrong with the contents is a *Error.
func Open(path string) (*Reader, error) {
	if path == "-" {
		return NewReader(os.Stdin, "stdin")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t, err := NewReader(file, path)
	if err != nil {
		file.Close()
		return nil, err
	}
	t.file = file
	return t, nil
}

// NewReader reads the header of a trace, compressed or not. name is what
// errors call the trace. All errors are *Error.
func NewReader(r io.Reader, name string) (*Reader, error) {
	t := &Reader{name: name, line: 1}
	var err error
	if t.lines, err = newLineReader(r); err != nil {
		return nil, t.fail(describeInput(err), err)
	}
	if t.lines.snapshot() {
		return nil, t.fail(SnapshotReason, nil)
	}
	line, err := t.lines.next()
	if err == io.EOF {
		return nil, t.fail("no header: the file is empty", nil)
	}
	if err != nil {
		return nil, t.fail(describeInput(err), err)
	}
	header, reason := parseHeader(line)
	if reason != "" {
		return nil, t.fail(reason, nil)
	}
	t.header = header
	t.refs = newReferences(header)
	if header.Format == Format && header.Version == 1 {
		t.readAhead()
	}
	return t, nil
}

// readAhead reads the first operation of a trace of version 1, whose header cannot say that
// the recorder had the device to itself. The recorders that had it began with device_free.
func (t *Reader) readAhead() {
	t.ahead, t.err = t.next()
	t.header.Exclusive = t.ahead != nil && t.ahead.Kind == OpDeviceFree
}

// Header is the first line, with what it leaves out filled in. It is the
// reader's own: not to be changed.
func (t *Reader) Header() *Header { return t.header }

// End is the last line, once Next has returned io.EOF; nil if the trace has none.
func (t *Reader) End() *End { return t.end }

// Close closes the file if Open opened one.
func (t *Reader) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// Reuse says that an operation is not looked at any more when the next one is read, so
// that they can be in the same memory.
func (t *Reader) Reuse() { t.room = &lineRoom{} }

// Next returns the next operation, which is the caller's to keep unless Reuse was called;
// io.EOF when there is none. Any other error is a *Error, and returned ever after.
func (t *Reader) Next() (*Op, error) {
	if op := t.ahead; op != nil {
		t.ahead = nil
		return op, nil
	}
	if t.err != nil {
		return nil, t.err
	}
	op, err := t.next()
	t.err = err
	return op, err
}

func (t *Reader) next() (*Op, error) {
	l, err := t.readLine()
	if err != nil {
		return nil, err
	}
	if !l.isEnd {
		if wrong := t.refs.follow(&l.op); wrong != "" {
			return nil, t.fail(fmt.Sprintf("%s: %s", l.op.Kind, wrong), nil)
		}
		return &l.op, nil
	}
	end := &End{Line: t.line, Layout: l.op.Expect.Layout, Stats: l.final}
	switch _, err := t.lines.next(); err {
	case io.EOF:
		t.end = end
		return nil, io.EOF
	case nil:
		t.line++
		return nil, t.fail("a line after the end of the trace", nil)
	default:
		t.line++
		return nil, t.fail(describeInput(err), err)
	}
}

// readLine reads a line and checks that it has the fields it should have.
func (t *Reader) readLine() (*traceLine, error) {
	text, err := t.lines.next()
	if err == io.EOF {
		return nil, io.EOF
	}
	t.line++
	if err != nil {
		return nil, t.fail(describeInput(err), err)
	}
	l, wrong := parseLine(text, t.header, t.room)
	if wrong != "" {
		return nil, t.fail(wrong, nil)
	}
	l.op.Line = t.line
	if t.header.Version == 1 {
		t.fillIn(&l.op)
	}
	return l, nil
}

// fillIn adds what version 1 does not say: its captures were all relaxed, and its
// graphs have the number of their capture.
func (t *Reader) fillIn(op *Op) {
	switch op.Kind {
	case OpCaptureBegin:
		op.Mode = spec.CaptureRelaxed
	case OpCaptureEnd:
		op.Graph = t.graphs
		t.graphs++
	}
}

func (t *Reader) fail(reason string, cause error) error {
	return &Error{File: t.name, Line: t.line, Reason: reason, Err: cause}
}

// lineRoom is the memory that reading a line takes.
type lineRoom struct {
	line   traceLine
	cursor jsonCursor
}

// parseLine reads a line after the header, into the room if there is any. It says what is
// wrong, "" if nothing is.
func parseLine(text []byte, h *Header, room *lineRoom) (l *traceLine, wrong string) {
	if h.Format == TreeFormat {
		return parseTreeLine(text)
	}
	if room == nil {
		room = &lineRoom{}
	}
	l, c := &room.line, &room.cursor
	*l = traceLine{columns: len(h.StatColumns)}
	*c = jsonCursor{line: text, path: c.path[:0]}
	seen := lineTable.read(c, l)
	c.end()
	kind := l.op.Kind
	switch {
	case c.failed():
		return nil, c.reason
	case l.isEnd:
		kind = endKind
	case kind == "":
		return nil, `a line with neither "op" nor "end"`
	}
	if wrong := checkShape(h.Version, kind, seen); wrong != "" {
		return nil, wrong
	}
	switch {
	case l.isEnd && l.op.Expect.Stats != nil:
		return nil, `end: "stats" are statistics by name, not an array`
	case !l.isEnd && l.final != nil:
		return nil, fmt.Sprintf(`%s: "stats" are an array in the order of "stat_columns"`, kind)
	}
	return l, ""
}
