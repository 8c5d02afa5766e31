package conformance

// Uses says what a program does with the uses of memory by other streams than that which
// the memory was allocated for, before it frees the memory.
type Uses int

const (
	// UsesRecorded: it tells the allocator of each (RecordStream), and frees at any time.
	UsesRecorded Uses = iota
	// UsesJoined: it makes the stream that the memory was allocated for wait for all of them.
	UsesJoined
	// UsesBeforeFree: the free names a stream, which need not be that of the allocation. The
	// program makes that stream wait for all uses.
	UsesBeforeFree
)

// A Contract is what the callers of an allocator do, on which it may rely. The zero value is
// PyTorch's.
type Contract struct {
	Uses Uses
	// Threads: programs have several host threads, which come and go, each with a default
	// stream of its own.
	Threads bool
	// DestroysStreams: programs destroy streams while the allocator keeps memory that was
	// used on them, and new streams have the handles of old ones.
	DestroysStreams bool
}

// Gone is what an allocator panics with whose process has ended in the middle of a call.
type Gone struct {
	Hangs  bool   // it had to be ended, for it did not come back
	Reason string // how the process ended, and what it wrote last
}

func (g *Gone) Error() string { return g.Reason }

// class is the class of failures.
func (g *Gone) class() string {
	if g.Hangs {
		return classHang
	}
	return classCrash
}
