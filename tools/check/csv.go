package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// csv is a log of lines of comma-separated values, as RMM's logging adaptor writes them:
//
//	Thread,Time,Action,Pointer,Size,Stream
//	3936,12:04:33:549123,allocate,0x7f41a0000000,1024,0x0
//
// The first line names the columns. There are no quotes. Every line ends in a line feed,
// so that one that was cut off is found out even if what is left of it makes sense.
type csv struct {
	in      *bufio.Reader
	name    string
	line    int
	columns [numColumns]int // where each is in a line, -1 if it is not there
	width   int             // columns of a line
	fields  [][]byte        // of the present line, good until the next
	header  trace.Header
	streams map[spec.Stream]int // indexes in header.Streams
	threads map[string]spec.Thread
	thread  spec.Thread // that was named last
	given   written
	events  []spec.TraceEntry // of driver calls that belong to the next operation
	driver  bool              // there have been driver calls
	over    bool

	row    csvRow   // the present one
	op     trace.Op // the latest one
	addr   spec.Ptr
	ranges [1]trace.OpRange
}

// The columns that are read; others may be there.
const (
	columnAction = iota
	columnPointer
	columnSize
	columnStream
	columnThread // may be missing
	numColumns
)

var columnNames = [numColumns]string{"Action", "Pointer", "Size", "Stream", "Thread"}

// longestLine bounds a line, in bytes.
const longestLine = 4096

// mostThreads bounds what is kept of a log. So does trace.MaxStreams.
const mostThreads = 1 << 16

func newCSV(in *bufio.Reader, name string) (*csv, error) {
	c := &csv{
		in: in, name: name, threads: map[string]spec.Thread{}, streams: map[spec.Stream]int{0: 0},
		given: written{streams: []string{""}},
		header: trace.Header{
			Format: trace.Format, Version: trace.Version, Devices: 1,
			TotalMemory: addressSpace, Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry(),
		},
	}
	err := c.read()
	if err == io.EOF {
		c.line = 1
		return nil, c.fail("no header: the file is empty")
	}
	if err != nil {
		return nil, err
	}
	c.width = len(c.fields)
	for i, name := range columnNames {
		c.columns[i] = slices.IndexFunc(c.fields, func(field []byte) bool { return string(field) == name })
		if c.columns[i] < 0 && i != columnThread {
			return nil, c.fail("this is neither a trace nor a table: the first line has no column %q", name)
		}
	}
	return c, nil
}

func (c *csv) Header() *trace.Header { return &c.header }

func (c *csv) ended() bool { return true }

func (c *csv) written() *written { return &c.given }

func (c *csv) fail(format string, args ...any) error {
	return &trace.Error{File: c.name, Line: c.line, Reason: fmt.Sprintf(format, args...)}
}

// read reads the fields of the next line.
func (c *csv) read() error {
	text, err := c.in.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return io.EOF
	}
	c.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull), len(text) > longestLine:
		return c.fail("the line is longer than %d bytes", longestLine)
	case err == io.EOF:
		return c.fail("the last line does not end: the file was cut off")
	case err != nil:
		return c.fail("%s", describe(err))
	}
	line := text // with its end, which is trimmed from the last field
	if bytes.IndexByte(line, '"') >= 0 || bytes.IndexByte(line, 0) >= 0 {
		return c.fail("quotes and NUL bytes are not read")
	}
	c.fields = c.fields[:0]
	for more := true; more; {
		field := line
		if end := bytes.IndexByte(line, ','); end >= 0 {
			field, line = line[:end], line[end+1:]
		} else {
			more = false
		}
		c.fields = append(c.fields, trim(field))
	}
	return nil
}

// trim takes space away at both ends.
func trim(field []byte) []byte {
	visible := func(b byte) bool { return b > ' ' && b < utf8.RuneSelf }
	if n := len(field); n == 0 || visible(field[0]) && visible(field[n-1]) {
		return field
	}
	return bytes.TrimSpace(field)
}

// Next reads lines up to one with an operation of the program. Those before it say what
// the allocator did in it. If there are such behind the last operation, an operation of
// no kind carries them. An operation is good until the next call.
func (c *csv) Next() (*trace.Op, error) {
	for !c.over {
		err := c.read()
		if err == io.EOF {
			c.over = true
			break
		}
		if err != nil {
			return nil, err
		}
		op, err := c.readRow()
		if op != nil || err != nil {
			return op, err
		}
	}
	if len(c.events) == 0 {
		return nil, io.EOF
	}
	c.op = trace.Op{}
	return c.carry(), nil
}

// carry gives the operation what the lines before it said.
func (c *csv) carry() *trace.Op {
	c.op.Line = c.line
	if c.driver {
		c.op.Expect.Entries = c.events
	}
	c.events = c.events[len(c.events):]
	if cap(c.events) == 0 {
		c.events = make([]spec.TraceEntry, 0, 64)
	}
	return &c.op
}

// readRow makes an operation of a line, or nil if the line only says what the allocator did.
func (c *csv) readRow() (*trace.Op, error) {
	if len(c.fields) != c.width {
		return nil, c.fail("%d fields instead of %d", len(c.fields), c.width)
	}
	does, known := csvActions[string(c.fields[c.columns[columnAction]])]
	if !known {
		return nil, c.fail("the action %q is not known", c.fields[c.columns[columnAction]])
	}
	c.op = trace.Op{}
	c.row = csvRow{log: c, op: &c.op}
	r := &c.row
	if c.columns[columnThread] >= 0 {
		c.op.Thread = r.thread(columnThread)
	}
	is := does(r)
	if r.wrong != nil {
		return nil, r.wrong
	}
	if !is {
		return nil, nil
	}
	return c.carry(), nil
}

// csvRow is a line being read. The first field that cannot be read is wrong.
type csvRow struct {
	log   *csv
	op    *trace.Op
	wrong error
}

func (r *csvRow) field(column int) []byte { return r.log.fields[r.log.columns[column]] }

func (r *csvRow) fail(column int, what string) {
	if r.wrong == nil {
		r.wrong = r.log.fail("%s: want %s, have %q", columnNames[column], what, r.field(column))
	}
}

// number reads a number: decimal, or hexadecimal with 0x.
func (r *csvRow) number(column int, what string) uint64 {
	n, ok := parseNumber(r.field(column))
	if !ok || n >= addressSpace && column != columnStream {
		r.fail(column, what)
	}
	return n
}

// parseNumber reads digits, or hexadecimal digits behind 0x. What is not there, and what
// C++ prints for a null pointer, is 0.
func parseNumber(text []byte) (n uint64, ok bool) {
	switch string(text) {
	case "", "(nil)", "nil":
		return 0, true
	}
	digits, base := string(text), 10
	if len(text) > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		digits, base = digits[2:], 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	return n, err == nil
}

// pointer is an address, which is also the number of the allocation.
func (r *csvRow) pointer() spec.Ptr {
	p := spec.Ptr(r.number(columnPointer, "an address"))
	if p == 0 {
		r.fail(columnPointer, "an address that is not null")
	}
	r.log.given.meet(r.field(columnPointer))
	return p
}

// event is the handle of an event, which is also its number.
func (r *csvRow) event() int { return int(r.number(columnPointer, "an event's handle")) }

func (r *csvRow) size() uint64 { return r.number(columnSize, "a number of bytes") }

// answer is 1 for yes and 0 for no.
func (r *csvRow) answer() bool {
	n := r.number(columnSize, "0 or 1")
	if n > 1 {
		r.fail(columnSize, "0 or 1")
	}
	return n == 1
}

// stream is the index of the stream in a column.
func (r *csvRow) stream(column int) int {
	handle := spec.Stream(r.number(column, "a stream's handle"))
	index, met := r.log.streams[handle]
	if !met {
		if index = len(r.log.header.Streams); index == trace.MaxStreams {
			r.wrong = r.log.fail("more than %d streams", trace.MaxStreams)
			return 0
		}
		r.log.header.Streams = append(r.log.header.Streams, handle)
		r.log.streams[handle] = index
		r.log.given.streams = append(r.log.given.streams, string(r.field(column)))
	}
	return index
}

// thread is the thread in a column, numbered as it is first met.
func (r *csvRow) thread(column int) spec.Thread {
	name := r.field(column)
	if latest := r.log.given.threads; len(latest) > 0 && string(name) == latest[r.log.thread] {
		return r.log.thread
	}
	thread, met := r.log.threads[string(name)]
	if !met {
		if len(r.log.threads) == mostThreads {
			r.wrong = r.log.fail("more than %d threads", mostThreads)
			return 0
		}
		thread = spec.Thread(len(r.log.threads))
		r.log.threads[string(name)] = thread
		r.log.given.threads = append(r.log.given.threads, string(name))
	}
	r.log.thread = thread
	return thread
}

// did adds what the allocator did.
func (r *csvRow) did(a spec.Action, addr spec.Ptr, bytes uint64) {
	r.log.driver = r.log.driver || a != spec.ActionFreeCompleted
	r.log.events = append(r.log.events, spec.TraceEntry{Action: a, Addr: addr, Size: bytes})
}
