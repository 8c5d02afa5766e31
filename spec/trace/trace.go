package trace

import (
	"fmt"

	"gaugeblock/internal/quote"
	"gaugeblock/spec"
)

// # Traces
//
// A trace is a recorded run: what a program asked of an allocator and of the GPU
// beside it, and, where it was recorded, what the allocator answered. One file
// carries a run of PyTorch on a real GPU, the work of a generator, or a counterexample
// that a test shrank.
// spec/trace/README.md describes the format for authors of recorders.
//
// A file is lines of JSON, plain or compressed with gzip: a header, one line an
// operation, and a last line with what was left. The code follows a line on its
// way in:
//
//	input.go       bytes      -> lines      gzip, a bound on the length
//	json.go        a line     -> values     a strict reader of JSON
//	table.go       an object  -> a struct   by a table of its members
//	header.go, op.go, line.go, values.go    the tables themselves
//	kinds.go       what a kind of operation is; memory.go, pools.go, sharing.go,
//	               streams.go, capture.go, device.go, tree_calls.go describe each
//	references.go  whether what an operation names exists at that point
//	trees.go       what graph trees add, and their own format
//	reader.go      all of that in order
//	writer.go      the same tables the other way round
//
// Nothing of a trace is trusted. A reader holds one line at a time and the set of
// numbers that are in use, and bounds both.

const (
	// Format is Header.Format of every trace that is read here.
	Format = "allocator-trace"

	// Version is the version that is written. Version 1, which PyTorch runs
	// were recorded in, is read as well.
	Version = 2

	// MaxLine is the longest line that is read, in bytes.
	MaxLine = 16 << 20

	// MaxLive is how many of a trace's numbers (allocations, events, states,
	// graphs, handles) may be in use at the same time.
	MaxLive = 4 << 20

	// MaxDevices is how many devices a trace may use, the most that PyTorch
	// can be built for.
	MaxDevices = 128
)

// Error is a trace that cannot be read, and where it went wrong.
type Error struct {
	File   string // as it was opened, "stdin" for standard input
	Line   int    // from 1
	Reason string // complete; Err is not needed to understand it
	Err    error  // the cause if there is one
}

// Error is "file:line: reason", as compilers write it.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", quote.Text(e.File), e.Line, e.Reason) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// End is the last line of a trace: what was left.
type End struct {
	Line   int
	Layout []spec.Segment   // nil: unknown
	Stats  map[string]int64 // all statistics by memory_stats key; nil: unknown
}
