package trace

import (
	"strconv"

	"gaugeblock/spec"
)

// OpKind is the kind of an operation: something a program did to an allocator or
// to the device it runs on. spec/trace/README.md lists them with their fields.
type OpKind string

// Op is one operation of a trace. Which fields matter depends on the kind; the
// others are zero. A program's own things (allocations, pools, states, events,
// graphs, handles) are numbered by the trace, so that it can be run anywhere.
type Op struct {
	Kind   OpKind
	Line   int // where it stands in its file, from 1; 0 if it was made up
	Device spec.Device
	Thread spec.Thread

	// Current is the current stream of the thread on Device, an index into Header.Streams. Nil:
	// the stream of the request in a malloc; in any other operation the stream whose capture
	// was begun last on the device, while one is under way, else the default stream.
	Current *int

	ID     int64       // the allocation
	Size   uint64      // bytes: malloc, resize; device_free
	Align  uint64      // malloc: the address is to be a multiple of so many bytes; 0: no such wish
	Stream int         // index into Header.Streams
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
	Reads  []OpRange        // kernel, copy, host_access
	Writes []OpRange        // kernel, copy, host_access
	Event  int              // record_event, wait_event, synchronize_event, query_event
	Graph  int              // capture_end, graph_launch, graph_destroy
	Handle int              // share, open_shared
	Mode   spec.CaptureMode // capture_begin

	CUDAStream spec.Stream // create_stream: the handle of a stream that is not in the header
	Blocking   bool        // create_stream: the legacy default stream and it wait for each other
	Complete   bool        // query_event, query_stream: the answer
	Other      spec.Thread // wait_thread: the one that is waited for

	Fault spec.FaultSpec // fault
	Frees []int64        // need_memory_callback: what the callback frees when first asked

	Function int         // call, move_static: index into the trace's functions
	Call     int         // call: its number
	Inputs   []TreeInput // call
	Output   TreeOutput  // drop

	Expect Expectation
}

// PoolFilter says which requests a pool_begin routes to its pool.
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

// lineTable is every field that an operation or the end can have. Which kinds
// have which is in the descriptions of the kinds.
var lineTable = newJSONTable("a line", []jsonMember[traceLine]{
	{
		name:   "op",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Kind = readKind(c) },
		append: func(b []byte, l *traceLine) []byte { return appendText(b, string(l.op.Kind)) },
		absent: func(l *traceLine) bool { return l.isEnd },
	},
	{
		name: "end",
		read: func(c *jsonCursor, l *traceLine) {
			if l.isEnd = c.truth(); !l.isEnd {
				c.fail("is either true or not there")
			}
		},
		append: func(b []byte, l *traceLine) []byte { return append(b, "true"...) },
		absent: func(l *traceLine) bool { return !l.isEnd },
	},
	wholeMember("id", func(l *traceLine) *int64 { return &l.op.ID }),
	wholeMember("size", func(l *traceLine) *uint64 { return &l.op.Size }),
	wholeMember("bytes", func(l *traceLine) *uint64 { return &l.op.Size }),
	wholeMember("align", func(l *traceLine) *uint64 { return &l.op.Align }),
	wholeMember("device", func(l *traceLine) *spec.Device { return &l.op.Device }),
	handleMember("thread", func(l *traceLine) *spec.Thread { return &l.op.Thread }),
	wholeMember("stream", func(l *traceLine) *int { return &l.op.Stream }),
	{
		name: "current",
		read: func(c *jsonCursor, l *traceLine) {
			current := int(c.size())
			l.op.Current = &current
		},
		append: func(b []byte, l *traceLine) []byte { return appendWhole(b, *l.op.Current) },
		absent: func(l *traceLine) bool { return l.op.Current == nil },
	},
	wholeMember("on", func(l *traceLine) *int { return &l.op.On }),
	handleMember("cuda_stream", func(l *traceLine) *spec.Stream { return &l.op.CUDAStream }),
	flagMember("blocking", func(l *traceLine) *bool { return &l.op.Blocking }),
	flagMember("complete", func(l *traceLine) *bool { return &l.op.Complete }),
	handleMember("other", func(l *traceLine) *spec.Thread { return &l.op.Other }),
	wholeMember("peer", func(l *traceLine) *spec.Device { return &l.op.Peer }),
	{
		name:   "pool",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Pool = readPool(c) },
		append: func(b []byte, l *traceLine) []byte { return appendPool(b, l.op.Pool) },
		absent: func(l *traceLine) bool { return l.op.Pool.IsDefault() },
	},
	wordMember("by", func(l *traceLine) *PoolFilter { return &l.op.By }, string(ByThread), string(ByStream), string(ByCapture)),
	flagMember("use_on_oom", func(l *traceLine) *bool { return &l.op.UseOnOOM }),
	flagMember("no_split", func(l *traceLine) *bool { return &l.op.NoSplit }),
	wholeMember("state", func(l *traceLine) *int { return &l.op.State }),
	listMember("live", func(l *traceLine) *[]int64 { return &l.op.Live }, readID, appendWhole[int64]),
	listMember("freed", func(l *traceLine) *[]int64 { return &l.op.Freed }, readID, appendWhole[int64]),
	textMember("settings", func(l *traceLine) *string { return &l.op.Settings }),
	{
		name:   "fraction",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Fraction = c.float() },
		append: func(b []byte, l *traceLine) []byte { return strconv.AppendFloat(b, l.op.Fraction, 'g', -1, 64) },
		absent: func(l *traceLine) bool { return l.op.Fraction == 0 },
	},
	wholeMember("allowed", func(l *traceLine) *uint64 { return &l.op.Allowed }),
	flagMember("enabled", func(l *traceLine) *bool { return &l.op.Enabled }),
	textMember("name", func(l *traceLine) *string { return &l.op.Name }),
	listMember("reads", func(l *traceLine) *[]OpRange { return &l.op.Reads }, readRange, appendRange),
	listMember("writes", func(l *traceLine) *[]OpRange { return &l.op.Writes }, readRange, appendRange),
	wholeMember("event", func(l *traceLine) *int { return &l.op.Event }),
	wholeMember("graph", func(l *traceLine) *int { return &l.op.Graph }),
	wholeMember("handle", func(l *traceLine) *int { return &l.op.Handle }),
	{
		name:   "mode",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Mode = spec.CaptureMode(c.oneOf(captureModes...)) },
		append: func(b []byte, l *traceLine) []byte { return appendText(b, l.op.Mode.String()) },
		absent: func(l *traceLine) bool { return l.op.Mode == 0 },
	},
	{
		name:   "fault",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Fault = readFault(c) },
		append: func(b []byte, l *traceLine) []byte { return appendFault(b, l.op.Fault) },
		absent: func(l *traceLine) bool { return l.op.Fault == (spec.FaultSpec{}) },
	},
	listMember("frees", func(l *traceLine) *[]int64 { return &l.op.Frees }, readID, appendWhole[int64]),
	wholeMember("fn", func(l *traceLine) *int { return &l.op.Function }),
	wholeMember("call", func(l *traceLine) *int { return &l.op.Call }),
	listMember("inputs", func(l *traceLine) *[]TreeInput { return &l.op.Inputs }, readInput, appendInput),
	{
		name:   "output",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Output = readOutput(c) },
		append: func(b []byte, l *traceLine) []byte { return appendOutput(b, l.op.Output) },
		absent: func(l *traceLine) bool { return l.op.Output == TreeOutput{} },
	},

	// Expectations, and what was left at the end.
	{
		name: "addr",
		read: func(c *jsonCursor, l *traceLine) {
			addr := spec.Ptr(c.unsigned())
			l.op.Expect.Addr = &addr
		},
		append: func(b []byte, l *traceLine) []byte { return appendWhole(b, *l.op.Expect.Addr) },
		absent: func(l *traceLine) bool { return l.op.Expect.Addr == nil },
	},
	optionalListMember("segments", func(l *traceLine) *[]spec.Range { return &l.op.Expect.Segments }, readPlace, appendPlace),
	optionalListMember("address_ranges", func(l *traceLine) *[]spec.Range { return &l.op.Expect.AddressRanges }, readPlace, appendPlace),
	wordMember("error", func(l *traceLine) *string { return &l.op.Expect.Error }, errorNames...),
	textMember("message", func(l *traceLine) *string { return &l.op.Expect.Message }),
	optionalListMember("events", func(l *traceLine) *[]spec.TraceEntry { return &l.op.Expect.Entries }, readEvent, appendEvent),
	{
		name:   "stats",
		read:   readStats,
		append: appendStats,
		absent: func(l *traceLine) bool { return l.op.Expect.Stats == nil && l.final == nil },
	},
	optionalListMember("layout", func(l *traceLine) *[]spec.Segment { return &l.op.Expect.Layout }, readSegment, appendSegment),
	{
		name:   "tree",
		read:   func(c *jsonCursor, l *traceLine) { l.op.Expect.Tree = readTree(c) },
		append: func(b []byte, l *traceLine) []byte { return appendTree(b, l.op.Expect.Tree) },
		absent: func(l *traceLine) bool { return l.op.Expect.Tree == nil },
	},
})
