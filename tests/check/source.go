package check

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"

	"gaugeblock/spec"
)

// source is a log that is read operation by operation. A program's operation carries in
// Expect what the allocator did in it.
type source interface {
	Header() *spec.TraceHeader
	// Next returns io.EOF behind the last operation; any other error is a
	// *spec.TraceError.
	Next() (*spec.Op, error)
	// ended reports whether the log is whole: what is out at its end is left over.
	ended() bool
}

// open looks which form a log has: a trace begins with a brace.
func open(r io.Reader, name string) (source, error) {
	in := bufio.NewReader(r)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, &spec.TraceError{File: name, Line: 1, Reason: describe(err), Err: err}
		}
		in = bufio.NewReader(unzip)
	}
	if first, _ := in.Peek(1); string(first) == "{" {
		trace, err := spec.NewTraceReader(in, name)
		if err != nil {
			return nil, err
		}
		trace.TolerateMisuse()
		return traceSource{trace}, nil
	}
	return newCSV(in, name)
}

// describe puts an error of the input into words.
func describe(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the compressed data ends too early: the file was cut off"
	}
	return err.Error()
}

// traceSource is a log in the trace format (docs/trace-format.md).
type traceSource struct{ *spec.TraceReader }

func (s traceSource) ended() bool { return s.End() != nil }
