// Package snapshot reads the files that torch.cuda.memory._dump_snapshot
// writes: what memory a program held from its GPUs, block by block, and the last
// things that the allocator did.
//
// Such a file is a Python pickle (protocols 2 to 5). The same may come compressed
// with gzip, or as JSON. Nothing in a pickle is ever executed: numbers, strings,
// lists, tuples and dicts are read, and a file that asks for anything else is
// refused (pickle.go).
//
//	pickle.go, json.go    bytes to plain values
//	plain.go              the plain values, kept small
//	entry.go              trace entries, taken out of the plain values at once
//	convert.go            plain values to a File
//
// Keys that are not known are passed over, since every version of PyTorch adds
// some; those that older versions lack are zero.
package snapshot

import (
	"fmt"

	"gaugeblock/spec"
)

// File is what a snapshot file says. Nothing in it changes after it was read, and
// equal things are shared: call stacks above all.
type File struct {
	// Segments by device, then address. The Context of a segment or block is a
	// Stack, or nil where none was recorded.
	Segments []spec.Segment
	// Traces are the entries of each device, oldest first. The last ones are
	// always there; the first ones need not be, since a program keeps only so
	// many. Devices without history have none.
	DeviceTraces [][]TraceEntry
	// Annotations are the program's own notes.
	ExternalAnnotations []spec.Annotation
	// Settings is what was in force when the file was written, nil where the file
	// does not say.
	AllocatorSettings *AllocatorSettings
}

// Settings is what a file says of the allocator's settings.
type AllocatorSettings struct {
	Conf   string // PYTORCH_ALLOC_CONF, or what the program set last
	Config spec.Config
}

// Entry is one thing that the allocator did. In an oom entry Addr is the bytes
// that the device had free; see spec.Event.
type TraceEntry struct {
	spec.TraceEntry
	TimeUS  int64    // microseconds since 1970; 0 where not recorded
	Context *Context // never nil
}

// SegmentKind is the kind of pool that a segment belongs to, told by the size that an
// entry of the segment names: small pools obtain SmallBuffer bytes at a time.
func (e *TraceEntry) SegmentPoolKind() spec.PoolKind {
	if e.Size <= spec.DefaultGeometry().SmallBuffer {
		return spec.SmallPool
	}
	return spec.LargePool
}

// Context is what went with an entry. Many entries share one.
type Context struct {
	Frames         Frames
	CompileContext string
	UserMetadata   string
	Pool           spec.PoolID
	PoolKnown      bool // the entry says its pool; those of PyTorch up to 2.11 do not
}

// Stack is where the program was, the innermost frame first.
type Frames []Frame

// Frame is one call.
type Frame struct {
	Filename string
	Line     int
	Name     string // of the function
}

// FormatError is a file that cannot be read as a snapshot.
type FormatError struct {
	File   string // as it was opened, "stdin" for standard input
	Offset int64  // where, in bytes from the start of the uncompressed file
	Reason string
	Err    error // the cause, if there is one
}

// Error is "file: reason (at byte n)".
func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: %s (at byte %d)", e.File, e.Reason, e.Offset)
}

// Unwrap gives the cause.
func (e *FormatError) Unwrap() error { return e.Err }
