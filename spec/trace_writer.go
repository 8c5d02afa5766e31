package spec

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A TraceWriter writes a trace of version TraceVersion, operation by operation.
// Fields come in a fixed order, and those that are zero are left out where the
// kind allows it, so that equal operations give equal bytes. It is not for use by
// several goroutines at once.
//
// Every line is read back before it is written: what a reader would refuse is
// refused here, as an *InvalidArgumentError that changes nothing.
type TraceWriter struct {
	out    *bufio.Writer
	header *TraceHeader
	refs   *traceReferences
	buf    []byte
	err    error // of the writer below; nothing more is written after it
}

// NewTraceWriter writes the header. Its Format and Version are ignored; Devices 0
// counts as 1, and a zero Geometry as the default one.
func NewTraceWriter(w io.Writer, h TraceHeader) (*TraceWriter, error) {
	h.Format, h.Version = TraceFormat, TraceVersion
	if h.Devices == 0 {
		h.Devices = 1
	}
	if h.Geometry == (Geometry{}) {
		h.Geometry = DefaultGeometry()
	}
	buf := headerTable.write(nil, &h, headerMust[TraceVersion], headerTable.all())
	header, reason := parseHeader(buf)
	if reason == "" {
		reason = checkOutput(buf)
	}
	if reason != "" {
		return nil, refuseTrace(reason)
	}
	t := &TraceWriter{out: bufio.NewWriter(w), header: header, refs: newTraceReferences(header), buf: buf}
	return t, t.flushLine()
}

// Write writes an operation; Op.Line is ignored.
func (t *TraceWriter) Write(op *Op) error {
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
func (t *TraceWriter) Close(end *TraceEnd) error {
	if t.err != nil {
		return t.err
	}
	if end != nil {
		l := &traceLine{isEnd: true, figures: end.Stats}
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
func (t *TraceWriter) encode(kind OpKind, l *traceLine) error {
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
	_, wrong := parseLine(t.buf, t.header)
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
	if len(line) >= MaxTraceLine {
		return fmt.Sprintf("the line is longer than %d bytes", MaxTraceLine)
	}
	if err := checkText(line); err != nil {
		return err.Error()
	}
	return ""
}

func (t *TraceWriter) flushLine() error {
	t.buf = append(t.buf, '\n')
	_, t.err = t.out.Write(t.buf)
	return t.err
}

func refuseTrace(reason string) error {
	return &InvalidArgumentError{Op: "write trace", Reason: reason}
}

// WriteTraceFile writes a whole trace, compressed if the name ends in ".gz". The
// file appears under its name when it is complete, and not at all if anything
// goes wrong. end may be nil.
func WriteTraceFile(path string, h TraceHeader, ops []Op, end *TraceEnd) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if strings.HasSuffix(path, ".gz") {
		err = writeCompressed(file, h, ops, end)
	} else {
		err = writeTrace(file, h, ops, end)
	}
	if err != nil {
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

func writeCompressed(w io.Writer, h TraceHeader, ops []Op, end *TraceEnd) error {
	zip := gzip.NewWriter(w)
	if err := writeTrace(zip, h, ops, end); err != nil {
		return err
	}
	return zip.Close()
}

func writeTrace(w io.Writer, h TraceHeader, ops []Op, end *TraceEnd) error {
	t, err := NewTraceWriter(w, h)
	if err != nil {
		return err
	}
	for i := range ops {
		if err := t.Write(&ops[i]); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return t.Close(end)
}
