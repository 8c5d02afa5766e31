package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"gaugeblock/spec"
)

// A Writer writes a trace of the current Version, operation by operation.
// Fields come in a fixed order, and those that are zero are left out where the
// kind allows it, so that equal operations give equal bytes. It is not for use by
// several goroutines at once.
//
// Every line is read back before it is written: what a reader would refuse is
// refused here, as an *InvalidArgumentError that changes nothing.
type Writer struct {
	out    *bufio.Writer
	header *Header
	refs   *references
	buf    []byte
	err    error // of the writer below; nothing more is written after it
}

// NewWriter writes the header. Its Format and Version are ignored; Devices 0
// counts as 1, and a zero Geometry as the default one.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Format, h.Version = Format, Version
	if h.Devices == 0 {
		h.Devices = 1
	}
	if h.Geometry == (spec.Geometry{}) {
		h.Geometry = spec.DefaultGeometry()
	}
	buf := headerTable.write(nil, &h, headerMust[Version], headerTable.all())
	header, reason := parseHeader(buf)
	if reason == "" {
		reason = checkOutput(buf)
	}
	if reason != "" {
		return nil, refuseTrace(reason)
	}
	t := &Writer{out: bufio.NewWriter(w), header: header, refs: newReferences(header), buf: buf}
	return t, t.flushLine()
}

// Write writes an operation; Op.Line is ignored.
func (t *Writer) Write(op *Op) error {
	if t.err != nil {
		return t.err
	}
	if err := t.encode(op.Kind, &traceLine{op: *op}); err != nil {
		return err
	}
	if wrong := t.refs.follow(op); wrong != "" {
		return refuseTrace(fmt.Sprintf("%s: %s", op.Kind, wrong))
	}
	return t.flushLine()
}

// Close writes the end, unless it is nil, and what is buffered. It does not close
// the writer below.
func (t *Writer) Close(end *End) error {
	if t.err != nil {
		return t.err
	}
	if end != nil {
		l := &traceLine{isEnd: true, final: end.Stats}
		l.op.Expect.Layout = end.Layout
		if err := t.encode(endKind, l); err != nil {
			return err
		}
		if err := t.flushLine(); err != nil {
			return err
		}
	}
	t.err = t.out.Flush()
	if t.err != nil {
		return t.err
	}
	t.err = errors.New("trace writer is closed")
	return nil
}

// encode puts a line into the buffer, if a reader will take it.
func (t *Writer) encode(kind OpKind, l *traceLine) error {
	s, known := shapes2[kind]
	if !known || (kind == endKind) != l.isEnd {
		return refuseTrace(fmt.Sprintf("unknown operation %q", kind))
	}
	belong := s.must | s.may
	if sizes := lineTable.set("size bytes"); belong&sizes != 0 {
		belong |= sizes // two names of Op.Size
	}
	if stray := lineTable.first(lineTable.present(l) &^ belong); stray != "" {
		return refuseTrace(fmt.Sprintf("field %q does not belong to %s", stray, kind))
	}
	t.buf = lineTable.write(t.buf[:0], l, s.must, s.may)
	_, wrong := parseLine(t.buf, t.header, nil)
	if wrong == "" {
		wrong = checkOutput(t.buf)
	}
	if wrong != "" {
		return refuseTrace(wrong)
	}
	return nil
}

// checkOutput is what a lineReader says of a line.
func checkOutput(line []byte) string {
	if len(line) >= MaxLine {
		return fmt.Sprintf("the line is longer than %d bytes", MaxLine)
	}
	if err := checkText(line); err != nil {
		return err.Error()
	}
	return ""
}

func (t *Writer) flushLine() error {
	t.buf = append(t.buf, '\n')
	_, t.err = t.out.Write(t.buf)
	return t.err
}

func refuseTrace(reason string) error {
	return &spec.InvalidArgumentError{Op: "write trace", Reason: reason}
}
