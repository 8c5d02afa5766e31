package spec

// Action is what an allocator did, in the words of PyTorch's memory history.
type Action uint8

const (
	// ActionAlloc: a block was allocated.
	ActionAlloc Action = iota
	// ActionFreeRequested: the caller freed it.
	ActionFreeRequested
	// ActionFreeCompleted: it is free. This follows at once unless other streams used it.
	ActionFreeCompleted
	// ActionSegmentAlloc: a segment was obtained from the driver.
	ActionSegmentAlloc
	// ActionSegmentFree: a segment was returned.
	ActionSegmentFree
	// ActionSegmentMap: a range of an expandable segment was backed with memory.
	ActionSegmentMap
	// ActionSegmentUnmap: the memory behind such a range was returned.
	ActionSegmentUnmap
	// ActionSnapshot: a snapshot was taken.
	ActionSnapshot
	// ActionOOM: a request failed for lack of memory.
	ActionOOM
	// ActionAnnotate: the program has annotated a block (BlockAnnotator).
	ActionAnnotate

	numActions
)

var actionNames = [numActions]string{
	"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "snapshot", "oom", "annotate",
}

// String is the name that PyTorch's memory history uses.
func (a Action) String() string {
	if a < numActions {
		return actionNames[a]
	}
	return "unknown"
}

// ActionNames lists the names of all actions, by action.
func ActionNames() []string { return actionNames[:] }

// ParseAction is the inverse of String.
func ParseAction(name string) (Action, bool) {
	for i, n := range actionNames {
		if n == name {
			return Action(i), true
		}
	}
	return 0, false
}

// TraceEntry is an action of an allocator. Its four fields are the same in every run of
// the same operations; a trace (spec/trace/README.md) records them. (Time and contexts,
// which can differ, are in HistoryEntry.)
//
// Addr is the address of the block, segment, or range of pages; in the entry of an oom
// it is the number of bytes that the device has free, in that of a snapshot 0. Size is in
// bytes: the requested size in alloc, free_requested, free_completed and annotate, the rounded
// request in oom, the size of the segment in segment_alloc and segment_free, of the pages
// in segment_map and segment_unmap, and of the active blocks in snapshot.
type TraceEntry struct {
	Action Action
	Addr   Ptr
	Size   uint64
	Stream Stream
}

// HistoryEntry is a TraceEntry in the history that an allocator records, with what
// PyTorch's TraceEntry has beside it.
type HistoryEntry struct {
	TraceEntry
	Device         Device
	Pool           PoolID
	TimeNS         int64 // 0 when history is recorded without a clock
	Context        any   // see HistoryOptions.Context
	CompileContext string
	UserMetadata   string

	InternalMetadata string // which call of the allocator made the entry, if that is recorded
}

// Annotation is user data that the program added to the history.
type Annotation struct {
	Device Device
	TimeNS int64
	Fields []AnnotationField
}

// AnnotationField is a key and a value of an Annotation.
type AnnotationField struct {
	Key, Value string
}
