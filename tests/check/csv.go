package check

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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
	columns [numColumns]int // where each is in a line
	width   int             // columns of a line
	header  trace.Header
	streams map[spec.Stream]int
	events  []spec.TraceEntry // of driver calls that belong to the next operation
	driver  bool              // there have been driver calls
	over    bool
}

// The columns that are read; others may be there.
const (
	columnAction = iota
	columnPointer
	columnSize
	columnStream
	numColumns
)

var columnNames = [numColumns]string{"Action", "Pointer", "Size", "Stream"}

// mostStreams bounds what is kept of a log.
const mostStreams = 1 << 16

func newCSV(in *bufio.Reader, name string) (*csv, error) {
	c := &csv{
		in: in, name: name, streams: map[spec.Stream]int{0: 0},
		header: trace.Header{
			Format: trace.Format, Version: trace.Version, Devices: 1,
			TotalMemory: addressSpace, Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry(),
		},
	}
	fields, err := c.read()
	if err == io.EOF {
		c.line = 1
		return nil, c.fail("no header: the file is empty")
	}
	if err != nil {
		return nil, err
	}
	c.width = len(fields)
	for i, name := range columnNames {
		c.columns[i] = slices.Index(fields, name)
		if c.columns[i] < 0 {
			return nil, c.fail("this is neither a trace nor a table: the first line has no column %q", name)
		}
	}
	return c, nil
}

func (c *csv) Header() *trace.Header { return &c.header }

func (c *csv) ended() bool { return true }

func (c *csv) fail(format string, args ...any) error {
	return &trace.Error{File: c.name, Line: c.line, Reason: fmt.Sprintf(format, args...)}
}

// read returns the fields of the next line.
func (c *csv) read() ([]string, error) {
	text, err := c.in.ReadSlice('\n')
	if err == io.EOF && len(text) == 0 {
		return nil, io.EOF
	}
	c.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, c.fail("the line is longer than %d bytes", c.in.Size())
	case err == io.EOF:
		return nil, c.fail("the last line does not end: the file was cut off")
	case err != nil:
		return nil, c.fail("%s", describe(err))
	}
	line := strings.TrimRight(string(text), "\r\n")
	if strings.ContainsAny(line, "\"\x00") {
		return nil, c.fail("quotes and NUL bytes are not read")
	}
	fields := strings.Split(line, ",")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields, nil
}

// Next reads lines up to one with an operation of the program. Those before it say what
// the allocator did in it. If there are such behind the last operation, an operation of
// no kind carries them.
func (c *csv) Next() (*trace.Op, error) {
	for !c.over {
		fields, err := c.read()
		if err == io.EOF {
			c.over = true
			break
		}
		if err != nil {
			return nil, err
		}
		op, err := c.row(fields)
		if op != nil || err != nil {
			return op, err
		}
	}
	if len(c.events) == 0 {
		return nil, io.EOF
	}
	return c.carry(&trace.Op{}), nil
}

// carry gives an operation what the lines before it said.
func (c *csv) carry(op *trace.Op) *trace.Op {
	op.Line = c.line
	if c.driver {
		op.Expect.Entries = append([]spec.TraceEntry{}, c.events...)
	}
	c.events = c.events[:0]
	return op
}

// row makes an operation of a line, or nil if the line only says what the allocator did.
func (c *csv) row(fields []string) (*trace.Op, error) {
	if len(fields) != c.width {
		return nil, c.fail("%d fields instead of %d", len(fields), c.width)
	}
	action := fields[c.columns[columnAction]]
	does, known := csvActions[action]
	if !known {
		return nil, c.fail("the action %q is not known", action)
	}
	r := csvRow{log: c, fields: fields}
	op := does(&r)
	if r.wrong != nil {
		return nil, r.wrong
	}
	if op == nil {
		return nil, nil
	}
	return c.carry(op), nil
}

// csvRow is a line being read. The first field that cannot be read is wrong.
type csvRow struct {
	log    *csv
	fields []string
	wrong  error
}

func (r *csvRow) field(column int) string { return r.fields[r.log.columns[column]] }

func (r *csvRow) fail(column int, what string) {
	if r.wrong == nil {
		r.wrong = r.log.fail("%s: want %s, have %q", columnNames[column], what, r.field(column))
	}
}

// number reads a number, hexadecimal if it begins with 0x.
func (r *csvRow) number(column int, what string) uint64 {
	text := r.field(column)
	if text == "(nil)" || text == "nil" || text == "" {
		text = "0"
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil || n >= addressSpace && column != columnStream {
		r.fail(column, what)
	}
	return n
}

// pointer is an address, which is also the number of the allocation.
func (r *csvRow) pointer() spec.Ptr {
	p := spec.Ptr(r.number(columnPointer, "an address"))
	if p == 0 {
		r.fail(columnPointer, "an address that is not null")
	}
	return p
}

func (r *csvRow) size() uint64 { return r.number(columnSize, "a number of bytes") }

// stream is the index of the stream in a column.
func (r *csvRow) stream(column int) int {
	handle := spec.Stream(r.number(column, "a stream's handle"))
	index, met := r.log.streams[handle]
	if !met {
		index = len(r.log.header.Streams)
		if index == mostStreams {
			r.wrong = r.log.fail("more than %d streams", mostStreams)
			return 0
		}
		r.log.streams[handle] = index
		r.log.header.Streams = append(r.log.header.Streams, handle)
	}
	return index
}

// did adds what the allocator did.
func (r *csvRow) did(a spec.Action, addr spec.Ptr, bytes uint64) {
	r.log.driver = r.log.driver || a == spec.ActionSegmentAlloc
	r.log.events = append(r.log.events, spec.TraceEntry{Action: a, Addr: addr, Size: bytes})
}
