package trace

import "fmt"

// # Traces
//
// A trace is a recorded run: what a program asked of an allocator and of the GPU
// beside it, and, where it was recorded, what the allocator answered. One file
// carries everything that is exchanged in this field's currency: runs of PyTorch
// on a real card, the work of a generator, a counterexample that a test shrank.
// docs/trace-format.md describes the format for authors of recorders.
//
// A file is lines of JSON, plain or compressed with gzip: a header, one line an
// operation, and a last line with what was left. The code follows a line on its
// way in:
//
//	trace_input.go       bytes      -> lines      gzip, a bound on the length
//	trace_json.go        a line     -> values     a strict reader of JSON
//	trace_table.go       an object  -> a struct   by a table of its members
//	trace_header.go, trace_line.go, trace_values.go    the tables themselves
//	trace_trees.go       what graph trees add, and their own format
//	trace_kinds.go       which fields belong to which kind of operation
//	trace_references.go  whether what an operation names exists at that point
//	trace_reader.go      all of that in order
//	trace_writer.go      the same tables the other way round
//
// Nothing of a trace is trusted. A reader holds one line at a time and the set of
// numbers that are in use, and bounds both.

const (
	// TraceFormat is TraceHeader.Format of every trace that is read here.
	Format = "allocator-trace"

	// TraceVersion is the version that is written. Version 1, which PyTorch runs
	// were recorded in, is read as well.
	Version = 2

	// MaxTraceLine is the longest line that is read, in bytes.
	MaxTraceLine = 16 << 20

	// MaxTraceLive is how many of a trace's numbers (allocations, events, states,
	// graphs, handles) may be in use at the same time.
	MaxLive = 4 << 20

	// MaxTraceDevices is how many devices a trace may use, the most that PyTorch
	// can be built for.
	MaxTraceDevices = 128
)

// TraceError is a trace that cannot be read, and where it went wrong.
type Error struct {
	File   string // as it was opened, "stdin" for standard input
	Line   int    // from 1
	Reason string // complete; Err is not needed to understand it
	Err    error  // the cause if there is one
}

// Error is "file:line: reason", as compilers write it.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
