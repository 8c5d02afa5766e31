package trace

import (
	"errors"
	"gaugeblock/spec"
	"maps"
	"slices"
)

// OpKind is the kind of an operation: something a program did to an allocator or
// to the device it runs on. docs/trace-format.md lists them with their fields.
type OpKind string

// Operations on the allocator.
const (
	OpMalloc              OpKind = "malloc"
	OpFree                OpKind = "free"
	OpRecordStream        OpKind = "record_stream"
	OpEmptyCache          OpKind = "empty_cache"
	OpSetMemoryFraction   OpKind = "set_memory_fraction"
	OpConfigure           OpKind = "configure"
	OpResetPeak           OpKind = "reset_peak_stats"
	OpResetAccumulated    OpKind = "reset_accumulated_stats"
	OpEnable              OpKind = "enable"
	OpPoolCreate          OpKind = "pool_create"
	OpPoolBegin           OpKind = "pool_begin"
	OpPoolEnd             OpKind = "pool_end"
	OpPoolRelease         OpKind = "pool_release"
	OpPoolDelete          OpKind = "pool_delete"
	OpCheckpoint          OpKind = "checkpoint"
	OpRestore             OpKind = "restore"
	OpPeerAccess          OpKind = "peer_access"
	OpShare               OpKind = "share"
	OpOpenShared          OpKind = "open_shared"
	OpCloseShared         OpKind = "close_shared"
	OpNeedMemoryCallback  OpKind = "need_memory_callback"
	OpTreeCall            OpKind = "call"
	OpTreeDrop            OpKind = "drop"
	OpTreeMarkStep        OpKind = "mark_step"
	OpTreeNewGeneration   OpKind = "new_generation"
	OpTreeMoveStaticInput OpKind = "move_static"
)

// Operations on the device.
const (
	OpBusy         OpKind = "busy"
	OpDrain        OpKind = "drain"
	OpKernel       OpKind = "kernel"
	OpCopy         OpKind = "copy"
	OpWaitStream   OpKind = "wait_stream"
	OpRecordEvent  OpKind = "record_event"
	OpWaitEvent    OpKind = "wait_event"
	OpSynchronize  OpKind = "synchronize"
	OpCaptureBegin OpKind = "capture_begin"
	OpCaptureEnd   OpKind = "capture_end"
	OpGraphLaunch  OpKind = "graph_launch"
	OpGraphDestroy OpKind = "graph_destroy"
	OpDeviceFree   OpKind = "device_free"
	OpFault        OpKind = "fault"
)

// OpKinds lists all kinds, by name.
func OpKinds() []OpKind { return slices.Sorted(maps.Keys(traceKinds2)) }

// Op is one operation of a trace. Which fields matter depends on the kind; the
// others are zero. A program's own things (allocations, pools, states, events,
// graphs, handles) are numbered by the trace, so that it can be run anywhere.
type Op struct {
	Kind   OpKind
	Line   int // where it stands in its file, from 1; 0 if it was made up
	Device spec.Device
	Thread spec.Thread

	ID     int64       // the allocation
	Size   uint64      // bytes: malloc; device_free
	Stream int         // index into TraceHeader.Streams
	On     int         // wait_stream: the stream that is waited for, of the same device
	Peer   spec.Device // peer_access: the device whose memory Device is to reach

	Pool     spec.PoolID
	By       PoolFilter // pool_begin
	UseOnOOM bool       // pool_create
	NoSplit  bool       // pool_create
	State    int        // checkpoint, restore
	Live     []int64    // restore: allocations of the pool that are live afterwards
	Freed    []int64    // restore: allocations that were live and are not any more

	Settings string  // configure
	Fraction float64 // set_memory_fraction
	Allowed  uint64  // set_memory_fraction: the limit in bytes that it comes to
	Enabled  bool    // enable

	Name   string           // kernel
	Reads  []OpRange        // kernel, copy
	Writes []OpRange        // kernel, copy
	Event  int              // record_event, wait_event
	Graph  int              // capture_end, graph_launch, graph_destroy
	Handle int              // share, open_shared
	Mode   spec.CaptureMode // capture_begin

	Fault spec.FaultSpec // fault
	Frees []int64        // need_memory_callback: what the callback frees when first asked

	Function int         // call, move_static: index into the trace's functions
	Call     int         // call: its number
	Inputs   []TreeInput // call
	Output   TreeOutput  // drop

	Expect Expectation
}

// PoolFilter says which requests a pool_begin diverts to its pool.
type PoolFilter string

const (
	// ByThread: those of the operation's Thread.
	ByThread PoolFilter = "thread"
	// ByStream: those for the operation's Stream.
	ByStream PoolFilter = "stream"
	// ByCapture: those for a stream that takes part in the capture that the
	// operation's Stream takes part in.
	ByCapture PoolFilter = "capture"
)

// OpRange is a part of an allocation: Bytes from Offset on; Bytes 0 means to its
// end.
type OpRange struct {
	ID     int64
	Offset uint64
	Bytes  uint64
}

// TreeOutput names one output of an earlier call of a graph tree function.
type TreeOutput struct {
	Call  int // the number of the call
	Index int // which of its outputs
}

// TreeInput is what a graph tree function is called with: fresh memory from
// outside the pool, or an output of an earlier call.
type TreeInput struct {
	Fresh   uint64      // bytes; 0 when Output is given
	Output  *TreeOutput // nil when the memory is fresh
	Consume bool        // the caller passes on its only reference to Output
}

// Expectation is what the recorder saw of an operation. Everything is optional:
// nil says that nothing is known. A counterexample is a trace without any.
type Expectation struct {
	Addr    *spec.Ptr         // malloc: what was given out
	Entries []spec.TraceEntry // what the allocator wrote into its diary; nil: unknown, empty: nothing
	Stats   []int64           // figures afterwards, in the order of TraceHeader.StatColumns; nil: unknown
	Layout  []spec.Segment    // memory afterwards; nil: unknown, empty: none
	Error   string            // how it failed, see ErrorName; "" when it succeeded, unless all is Unknown
	Message string            // the message that came with the error, for people
	Tree    *TreeExpectation  // call: what was seen afterwards; nil: unknown
}

// Unknown reports whether nothing at all was recorded, not even whether the
// operation succeeded.
func (e *Expectation) Unknown() bool {
	return e.Addr == nil && e.Entries == nil && e.Stats == nil && e.Layout == nil && e.Tree == nil && e.Error == ""
}

// What Expectation.Error can say.
const (
	ErrorOOM             = "oom"              // *OutOfMemoryError
	ErrorInvalidPointer  = "invalid_pointer"  // *InvalidPointerError
	ErrorInvalidArgument = "invalid_argument" // *InvalidArgumentError
	ErrorInvalidState    = "invalid_state"    // *InvalidStateError
	ErrorNotSupported    = "not_supported"    // anything that wraps ErrNotSupported
	ErrorDriver          = "driver"           // a *DriverError that is not one of the above
	ErrorOther           = "other"            // any other failure
)

var errorNames = []string{
	ErrorOOM, ErrorInvalidPointer, ErrorInvalidArgument, ErrorInvalidState,
	ErrorNotSupported, ErrorDriver, ErrorOther,
}

// ErrorName is the name that a trace has for an allocator's error, "" for nil.
func ErrorName(err error) string {
	var (
		pointer  *spec.InvalidPointerError
		argument *spec.InvalidArgumentError
		state    *spec.InvalidStateError
		driver   *spec.DriverError
	)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, spec.ErrOutOfMemory):
		return ErrorOOM
	case errors.As(err, &pointer):
		return ErrorInvalidPointer
	case errors.As(err, &argument):
		return ErrorInvalidArgument
	case errors.As(err, &state):
		return ErrorInvalidState
	case errors.Is(err, spec.ErrNotSupported):
		return ErrorNotSupported
	case errors.As(err, &driver):
		return ErrorDriver
	}
	return ErrorOther
}

// Layout copies the segments of a snapshot without the contexts, which a trace does
// not record.
func Layout(s *spec.Snapshot) []spec.Segment {
	layout := make([]spec.Segment, 0, len(s.Segments))
	for _, g := range s.Segments {
		blocks := make([]spec.Block, 0, len(g.Blocks))
		for _, b := range g.Blocks {
			b.Context = nil
			blocks = append(blocks, b)
		}
		g.Context, g.Blocks = nil, blocks
		layout = append(layout, g)
	}
	return layout
}

// TraceHeader is the first line of a trace.
type Header struct {
	Format      string // TraceFormat or TreeTraceFormat
	Version     int
	Source      string // what recorded it
	DeviceName  string
	Devices     int    // how many devices the trace uses; at least 1
	TotalMemory uint64 // bytes of each device
	Settings    string // PYTORCH_ALLOC_CONF
	Family      string
	Seed        int64
	Streams     []spec.Stream // the handles by index; 0 is the default stream

	StreamIDs   []int64  // upstream's numbers of them, where recorded
	StatColumns []string // the keys of Expectation.Stats
	Functions   []TreeFunction
	StaticBytes uint64        // the size of the functions' static inputs
	Geometry    spec.Geometry // upstream's unless the trace says otherwise

	// Waits: a call of the driver that waits for a busy stream lets it catch up, and
	// freeing memory waits for the device, as on hardware. Otherwise such a wait is
	// an error and a free does not wait, so that only the program drains streams.
	Waits bool
}

// TraceEnd is the last line of a trace: what was left.
type End struct {
	Line   int
	Layout []spec.Segment   // nil: unknown
	Stats  map[string]int64 // all figures by memory_stats key; nil: unknown
}
