// Package snapshot reads memory snapshots of PyTorch: the files that
// torch.cuda.memory._dump_snapshot writes. A snapshot has the segments and blocks of the
// allocators of all devices, and the last entries of their histories.
//
// The packages below it are the tools for snapshots: whatif predicts the memory statistics
// under other allocator settings, report shows a snapshot as an HTML page, record holds a
// Python file that records what a snapshot lacks.
//
// A snapshot is a Python pickle (protocols 2 to 5), or the same as JSON, plain, compressed (.gz,
// .xz, .zip), or inside a page of memory_viz. Nothing in a pickle is executed: None, numbers,
// strings, lists, tuples and dicts are read, and a file with anything else is refused (pickle.go).
//
//	read.go                           opens a file, and errors with their offset
//	pickle.go, json.go                bytes to plain values
//	plain.go, chunked_list.go         the plain values, in little memory
//	trace_entry.go                    trace entries, made of plain values at once
//	convert.go, allocator_settings.go plain values to a File
//	version.go                        which versions of PyTorch write such a file
//	frames.go                         the program's own line in a call stack
//
// Unknown keys are ignored, since every version of PyTorch adds some. Missing keys, of
// older versions, are zero. Unknown actions are counted.
package snapshot

import (
	"fmt"

	"gaugeblock/internal/quote"
	"gaugeblock/spec"
)

// File is the contents of a snapshot file. It never changes, and equal call stacks are
// shared.
type File struct {
	// Segments are in order of device and address. The Context of a segment or block is
	// its Frames, or nil if none were recorded.
	Segments []spec.Segment
	// DeviceTraces are the histories by device, the oldest entry first. A history is a
	// ring of max_entries entries and may have lost its beginning.
	DeviceTraces [][]TraceEntry
	// HostSegments and HostTrace are those of pinned host memory, of the whole process: since PyTorch
	// 2.14, if it was asked to record them. A segment there is one block.
	HostSegments        []spec.Segment
	HostTrace           []TraceEntry
	ExternalAnnotations []spec.Annotation
	AllocatorSettings   *AllocatorSettings // when the file was written; nil if not in the file
	// UnknownActions are the actions of entries that this version does not know, by
	// device. These entries are not in DeviceTraces.
	UnknownActions [][]UnknownAction
	Version        Version
}

// AllocatorSettings are the allocator settings in a file.
type AllocatorSettings struct {
	Conf   string // PYTORCH_ALLOC_CONF, or what the program set last
	Config spec.Config
	// Unknown are the settings in Conf that the release does not have or that nothing here follows,
	// as "key:value"; the others hold.
	Unknown []string
}

// UnknownAction is an action of another version of PyTorch, and how many entries have it.
type UnknownAction struct {
	Action  string
	Entries int
}

// TraceEntry is an entry of a history. In an oom entry Addr is the bytes that the device
// had free; see spec.TraceEntry.
type TraceEntry struct {
	spec.TraceEntry
	TimeUS  int64    // microseconds since 1970; 0 if not recorded
	Context *Context // never nil
}

// SegmentPoolKind is the kind of the pool of a segment entry. It follows from the size:
// small pools allocate segments of SmallBuffer.
func (e *TraceEntry) SegmentPoolKind() spec.PoolKind {
	if e.Size <= spec.DefaultGeometry().SmallBuffer {
		return spec.SmallPool
	}
	return spec.LargePool
}

// Context is the further values of a trace entry. Entries share equal ones.
type Context struct {
	Frames         Frames
	CompileContext string
	UserMetadata   string
	Pool           spec.PoolID
	PoolKnown      bool // entries of PyTorch up to 2.11 do not have the pool
}

// Frames is a call stack, the innermost frame first. Call stacks share equal frames.
type Frames []*Frame

// Frame is a frame of a call stack.
type Frame struct {
	Filename string
	Line     int
	Name     string // of the function
}

// FormatError is a file that cannot be read as a snapshot.
type FormatError struct {
	File   string // the name under which it was opened, "stdin" for standard input
	Offset int64  // in bytes from the start of the uncompressed file
	Reason string
	Err    error // the cause, or nil
}

// Error is "file: reason (at byte n)".
func (e *FormatError) Error() string {
	if e.Offset == 0 { // it is about the file as a whole
		return fmt.Sprintf("%s: %s", quote.Text(e.File), e.Reason)
	}
	return fmt.Sprintf("%s: %s (at byte %d)", quote.Text(e.File), e.Reason, e.Offset)
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }
