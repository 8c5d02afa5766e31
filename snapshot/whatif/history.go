package whatif

import (
	"gaugeblock/snapshot"
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// History is what a program asked of the allocator of one device, as far as it was
// recorded, and what it held when the recording begins.
type History struct {
	Device spec.Device
	// Start is the memory held at the beginning of the trace, by address: nothing
	// if the trace is whole.
	Start []spec.Segment
	// Requests are what the program asked for, in order.
	Requests []Request
	// Allocations is how many different pieces of memory the requests and Start
	// are about; their IDs are below it.
	Allocations int
	// Held are the IDs of what is given out in Start, in order of address.
	Held []int32
	// Pools are the private pools that requests name, by Request.Pool-1.
	Pools []spec.PoolID
	// Streams are those that appear, ascending.
	Streams []spec.Stream
	// Config is what was in force at the end of the recording.
	Config spec.Config
	// Limit is what the record shows of the limit in force.
	Limit LimitBounds

	Mallocs int   // how many requests ask for memory
	Micros  int64 // how long the trace is; 0 without times
	Unknown Unknown
	strange bool // Start is such as no allocator leaves behind; see start.go
	trace   []snapshot.Entry
	ops     []repeatedOp // what a recorded trace has beside; see fromtrace.go
}

// Whole reports whether the history begins with the first request of the program.
func (h *History) Whole() bool { return len(h.Start) == 0 }

// Unknown counts what the record leaves open.
type Unknown struct {
	Contradictions int // entries that contradict the others
	Held           int // frees that had to wait for other streams: how long depends on the run
	EmptyCaches    int // times that the program seems to have emptied the cache
	LostPools      int // requests served from segments whose pool the record does not tell
	Failed         int // requests that failed in the recorded run
	Reconfigured   int // times that the program changed the settings
}

// Request is one thing that a program asks.
type Request struct {
	Kind RequestKind
	Pool uint8 // Malloc: 0 for the default pool, else an index into History.Pools plus 1
	// Held: other streams used the memory when it was freed, and it came back only
	// before request number Until.
	Held   bool
	ID     int32 // the allocation
	Until  int32
	Entry  int32 // where it stands in the trace
	Bytes  uint64
	Stream spec.Stream
	Thread spec.Thread
}

// RequestKind is the kind of a Request.
type RequestKind uint8

// What programs ask.
const (
	// Malloc asks for Bytes.
	Malloc RequestKind = iota
	// Free gives the allocation back.
	Free
	// Failing asks for Bytes (rounded) where the recorded run got nothing. What
	// the program would have done with the memory is not known; it is taken to
	// give it back at once.
	Failing
	// EmptyCache gives back what is cached.
	EmptyCache
	// Other is one of the operations with pools; ID is its place among them.
	Other
)

// Entry is where a request stands in the record.
func (h *History) Entry(r *Request) *snapshot.Entry { return &h.trace[r.Entry] }

// settings are those of the recorded run, as PYTORCH_ALLOC_CONF would have them.
func (h *History) settings() string { return settings.Format(h.Config, spec.DefaultGeometry()) }
