package check

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"

	"gaugeblock/spec/trace"
)

// source is a log that is read operation by operation. A program's operation carries in
// Expect what the allocator did in it.
type source interface {
	Header() *trace.Header
	// Next returns io.EOF behind the last operation; any other error is a
	// *trace.Error. An operation is good until the next call.
	Next() (*trace.Op, error)
	// ended reports whether the log is whole: what is allocated at its end was not freed.
	ended() bool
	// written is how the log writes addresses, streams and threads.
	written() *written
}

// open looks which form a log has: a trace begins with a brace.
func open(r io.Reader, name string) (source, error) {
	in := bufio.NewReaderSize(r, inputBuffer)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		unzip, err := gzip.NewReader(in)
		if err != nil {
			return nil, &trace.Error{File: name, Line: 1, Reason: describe(err), Err: err}
		}
		in = bufio.NewReaderSize(unzip, inputBuffer)
	}
	beginning, _ := in.Peek(longestLine)
	if trace.IsSnapshot(beginning) {
		return nil, &trace.Error{File: name, Line: 1, Reason: trace.SnapshotReason}
	}
	if len(beginning) > 0 && beginning[0] == '{' {
		tr, err := trace.NewReader(in, name)
		if err != nil {
			return nil, err
		}
		tr.TolerateMisuse()
		tr.Reuse()
		return &traceSource{Reader: tr}, nil
	}
	return newCSV(in, name)
}

const inputBuffer = 64 << 10

// describe puts an error of the input into words.
func describe(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the compressed data ends too early: the file was cut off"
	}
	return err.Error()
}

// traceSource is a log in the trace format (spec/trace/README.md).
type traceSource struct {
	*trace.Reader
	given written
}

func (s *traceSource) ended() bool { return s.End() != nil }

func (s *traceSource) written() *written { return &s.given }
