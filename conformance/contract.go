package conformance

import (
	"slices"

	"gaugeblock/spec/happensbefore"
)

// Uses says what a program does, before it frees memory, about uses by streams other than the
// one that the memory was allocated for.
type Uses int

const (
	// UsesRecorded: it tells the allocator of each (RecordStream), and frees at any time.
	UsesRecorded Uses = iota
	// UsesJoined: it makes the stream that the memory was allocated for wait for all of them.
	UsesJoined
	// UsesBeforeFree: the free names a stream, which need not be that of the allocation. The
	// program makes that stream wait for all uses.
	UsesBeforeFree
	// UsesWaited: the host waits for all of them. Without streams of its own an allocator can do
	// no more than rely on that.
	UsesWaited
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

	// Aligned: requests name an alignment. Resizes: allocations grow and shrink where they are.
	// Sleeps: all memory is given up for a while; SleepsIdle: the host waits for all work before.
	Aligned, Resizes, Sleeps, SleepsIdle bool
	// FailingEvents: an event may fail to be recorded, and no memory may be used again too early for that.
	FailingEvents bool

	// OnHost: the memory is the host's, and what the allocator writes there is really written.
	OnHost bool
}

// Gone is the panic of an allocator whose process has ended during a call.
type Gone struct {
	Hangs  bool   // it had to be ended, for it did not come back
	Reason string // how the process ended, and what it wrote last
}

func (g *Gone) Error() string { return g.Reason }

// A Complainer is an allocator that can tell of its latest call what no answer shows: that the
// call has left something in the calling thread.
type Complainer interface {
	// Complaint is what the latest call has left, and words for it; ComplaintNone without any.
	Complaint() (Complaint, string)
}

// A Complaint is a kind of such things.
type Complaint int

const (
	ComplaintNone    Complaint = iota
	ComplaintError             // an error of the driver as the thread's last error
	ComplaintDevice            // another device as the current one
	ComplaintRefused           // something that the driver refused to take back
)

const (
	classLeavesError  = "leaves an error"
	classLeavesDevice = "leaves a device"
	classRefused      = "refused"
)

// checkComplaint looks whether the latest call has left something behind.
func (t *Trial) checkComplaint() *Failure {
	complainer, able := t.player.Allocator().(Complainer)
	if !able {
		return nil
	}
	switch kind, words := complainer.Complaint(); kind {
	case ComplaintError:
		return t.fail(classLeavesError, "%s", words)
	case ComplaintDevice:
		return t.fail(classLeavesDevice, "%s", words)
	case ComplaintRefused:
		return t.fail(classRefused, "%s", words)
	}
	return nil
}

// class is the class of failures.
func (g *Gone) class() string {
	if g.Hangs {
		return classHang
	}
	return classCrash
}

// touch is a use of memory by a stream, that no later use is known to come behind.
type touch struct {
	slot  int
	epoch happensbefore.Epoch
}

// touches adds a use of memory by a stream, for work that the stream is given now.
func (p *Program) touches(m *memory, slot int) {
	lane := p.streams[slot].work
	m.touched = slices.DeleteFunc(m.touched, func(t touch) bool { return p.order.Before(t.epoch, lane) })
	m.touched = append(m.touched, touch{slot, p.order.Submit(lane).Epoch})
}

// unjoined is a use of the memory behind which a stream does not come.
func (p *Program) unjoined(m *memory, slot int) (t touch, found bool) {
	for _, t := range append([]touch{{m.slot, m.start}}, m.touched...) {
		if p.area.contract.Uses == UsesWaited && !p.order.Seen(t.epoch) || !p.order.Before(t.epoch, p.streams[slot].work) {
			return t, true
		}
	}
	return touch{}, false
}

// mayUseElsewhere reports whether the contract lets a stream other than the allocation's use
// memory at all. Streams of other devices do so only if it is recorded.
func (p *Program) mayUseElsewhere(m *memory, u use) bool {
	if p.area.contract.Uses != UsesRecorded {
		return p.streams[u.slot].device == m.device
	}
	return slices.Contains(m.uses, u)
}

// ownThread is the thread whose default stream a stream is, 0 if it is nobody's.
func (p *Program) ownThread(slot int) int {
	s := &p.streams[slot]
	first := p.header.OwnStream(s.device, 1)
	if first == 0 || s.index < first || s.index >= first+p.header.Threads {
		return 0
	}
	return s.index - first + 1
}

// mayCall reports whether the thread of an operation may name its stream: a thread's default
// stream has a name in that thread only.
func (p *Program) mayCall(thread uint64, slot int) bool {
	owner := p.ownThread(slot)
	return owner == 0 || uint64(owner) == thread
}
