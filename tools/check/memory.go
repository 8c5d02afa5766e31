package check

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
	"gaugeblock/spec/trace"
)

// memory is what is allocated, by number, and what was freed lately, so that a second free can
// be distinguished from one of memory that never was.
type memory struct {
	latest map[int64]*allocation // the latest one with each number
	// the one that was looked for last; nil: it is not allocated any more
	recent   *allocation
	live     int  // how many of them are allocated
	ordered  bool // somebody is going to ask for allocations by address
	byPtr    btree.Map[spec.Ptr, *allocation]
	oldest   []int64                 // numbers that were freed and are remembered, oldest first
	before   btree.Map[int64, int64] // numbers freed before those, as ranges: first, last
	waiting  map[spec.Ptr]*waiting
	empty    map[spec.Ptr]int // allocations of no bytes that have an address
	passedOn passedOn
}

// allocation is memory that is, or was, allocated.
type allocation struct {
	id     int64
	ptr    spec.Ptr
	bytes  uint64
	device spec.Device
	// the stream that it was allocated for; of another process's memory, the legacy default stream
	on     *given
	line   int   // where it was allocated
	freed  int   // and where it was freed
	uses   *uses // nil: no stream was recorded
	lent   bool  // a callback may free it
	opened bool  // another process's
	ended  bool  // it is not allocated any more

	thread spec.Thread          // that was given it
	known  *happensbefore.Clock // what the thread knew then; nil: nothing
	start  happensbefore.Clock  // what came before its stream's next work then
	told   happensbefore.Clock  // what the program had let the allocator know when it was freed

	// if it is allocated: the one with its number that was freed last, nil if none is remembered
	earlier *allocation
}

func (a *allocation) Range() spec.Range { return spec.Range{Ptr: a.ptr, Bytes: a.bytes} }

type deviceStream struct {
	device spec.Device
	stream spec.Stream
}

// uses are the streams that were recorded for an allocation.
type uses struct {
	list []use
	met  map[deviceStream]bool // the same, without the lines
}

// use is a stream that was recorded.
type use struct {
	device spec.Device
	on     *given
	line   int // where
}

// recorded lists the streams that were recorded for the allocation.
func (a *allocation) recorded() []use {
	if a.uses == nil {
		return nil
	}
	return a.uses.list
}

// waiting is a freed allocation, and the events that have to complete before its memory
// can be reused.
type waiting struct {
	of     *allocation
	events []spec.EventHandle
}

// mostFreed is how many freed allocations are remembered with their lines. A test has fewer.
var mostFreed = 1 << 20

func newMemory() memory {
	return memory{latest: map[int64]*allocation{}, waiting: map[spec.Ptr]*waiting{}, empty: map[spec.Ptr]int{}, ordered: true}
}

// allocated is the allocation with a number, nil if there is none.
func (m *memory) allocated(id int64) *allocation {
	if a := m.recent; a != nil && a.id == id {
		return a
	}
	if a := m.latest[id]; a != nil && !a.ended {
		m.recent = a
		return a
	}
	return nil
}

// freed is the allocation with a number that was freed last, nil if none is remembered.
func (m *memory) freed(id int64) *allocation { return m.latest[id].lastFreed() }

func (a *allocation) lastFreed() *allocation {
	if a != nil && !a.ended {
		return a.earlier
	}
	return a
}

// name lets an allocation have its number, whichever had it before.
func (m *memory) name(a *allocation) {
	before := m.latest[a.id]
	if before == nil || before.ended {
		m.live++
	}
	a.earlier, a.ended = before.lastFreed(), false
	m.latest[a.id], m.recent = a, a
}

// forget takes its number from what is allocated under it.
func (m *memory) forget(id int64) {
	a := m.allocated(id)
	switch {
	case a == nil:
		return
	case a.earlier != nil:
		m.latest[id] = a.earlier
	default:
		delete(m.latest, id)
	}
	m.live--
	m.recent = nil
}

func (m *memory) put(a *allocation) {
	m.name(a)
	if m.ordered {
		m.byPtr.Set(a.ptr, a)
	}
}

// end moves an allocation to the freed ones.
func (m *memory) end(a *allocation, line int) {
	m.recent = nil
	before := m.latest[a.id]
	again := before.lastFreed() != nil
	if before != nil && !before.ended {
		m.live--
	}
	if m.ordered {
		if at, there := m.byPtr.Get(a.ptr); there && at == a {
			m.byPtr.Delete(a.ptr)
		}
	}
	if a.freed, a.ended, a.earlier = line, true, nil; a != before {
		m.latest[a.id] = a
	}
	if !again {
		m.oldest = append(m.oldest, a.id)
	}
	if len(m.oldest) > mostFreed {
		m.forgetFreed(m.oldest[0])
		m.oldest = m.oldest[1:]
	}
}

// forgetFreed remembers of a number only that it was freed.
func (m *memory) forgetFreed(id int64) {
	if a := m.allocated(id); a != nil {
		a.earlier = nil
	} else {
		delete(m.latest, id)
	}
	m.addBefore(id)
}

// addBefore adds a number to those freed before, and joins it with the ranges beside it.
func (m *memory) addBefore(id int64) {
	first, last := id, id
	m.before.Descend(id, func(f, l int64) bool {
		if l >= id {
			first, last = f, l
		} else if l == id-1 {
			first = f
		}
		return false
	})
	if end, there := m.before.Get(last + 1); there {
		m.before.Delete(last + 1)
		last = end
	}
	m.before.Set(first, last)
}

// wasFreed reports whether a number was freed, also if its allocation is not remembered.
func (m *memory) wasFreed(id int64) (was bool) {
	m.before.Descend(id, func(_, last int64) bool {
		was = last >= id
		return false
	})
	return was || m.freed(id) != nil
}

// byAge lists what is allocated, oldest first.
func (m *memory) byAge() []*allocation {
	list := make([]*allocation, 0, m.live)
	for _, a := range m.latest {
		if !a.ended {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *allocation) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.id, b.id))
	})
	return list
}

// within lists what is allocated in a range, by address.
func (m *memory) within(r spec.Range) []*allocation {
	var in []*allocation
	m.byPtr.Ascend(r.Ptr, func(p spec.Ptr, a *allocation) bool {
		if p < r.End() {
			in = append(in, a)
		}
		return p < r.End()
	})
	return in
}

// allocated begins the life of what a malloc returned. An allocation of no bytes has no
// life, but it may have an address, which is freed.
func (c *checker) allocated(op *trace.Op) error {
	if op.Size == 0 {
		if op.Expect.Addr != nil && *op.Expect.Addr != 0 {
			c.memory.empty[*op.Expect.Addr]++
		}
		return nil
	}
	if op.Expect.Addr == nil {
		return c.bad("malloc without \"addr\": what was allocated is not known")
	}
	if err := c.checkRange(spec.Range{Ptr: *op.Expect.Addr, Bytes: op.Size}); err != nil {
		return err
	}
	if err := c.driver.need(op.Device); err != nil {
		return err
	}
	a := &allocation{
		id: op.ID, ptr: *op.Expect.Addr, bytes: op.Size, device: op.Device, on: c.stream(op.Device, op.Stream),
		line: op.Line, thread: op.Thread,
	}
	if before := c.memory.allocated(op.ID); before != nil {
		c.memory.end(before, op.Line) // the device says that there are two
	}
	c.checkAlignment(a)
	if c.idle != nil {
		c.idle.allocated(a)
	}
	c.begin(a)
	if c.options.StreamOrdered {
		c.worked = true
		c.performed(c.gpu.LaunchOn(a.on.stream, spec.Launch{Device: a.device, Name: "allocate", Writes: []spec.Range{a.Range()}}))
	}
	return nil
}

// checkRange refuses what no device has, whose ends would not be numbers.
func (c *checker) checkRange(r spec.Range) error {
	if uint64(r.Ptr) >= addressSpace || r.Bytes >= addressSpace {
		return c.bad("%d bytes at %v are more than there are addresses", r.Bytes, r.Ptr)
	}
	return nil
}

// begin begins a life.
func (c *checker) begin(a *allocation) {
	c.forgetWaiting(a.ptr)
	c.memory.passedOn.take(a.Range(), c.gpu.See)
	known, start := c.gpu.Allocated(fakegpu.Lifetime{Range: a.Range(), Tag: a}, a.on.stream)
	a.known, a.start = c.shared(known), start
	c.memory.put(a)
}

// shared is a clock that allocations of one thread have in common as long as it learns nothing; nil
// is the zero clock.
func (c *checker) shared(known happensbefore.Clock) *happensbefore.Clock {
	switch {
	case known == happensbefore.Clock{}:
		return nil
	case c.known == nil || *c.known != known:
		c.known = &known
	}
	return c.known
}

// free ends the life of what was freed, or says why it has none.
func (c *checker) free(op *trace.Op) {
	a := c.memory.allocated(op.ID)
	if n := c.memory.empty[spec.Ptr(op.ID)]; n > 0 && op.Size == 0 && (a == nil || a.ptr == spec.Ptr(op.ID)) {
		if c.memory.empty[spec.Ptr(op.ID)]--; n == 1 {
			delete(c.memory.empty, spec.Ptr(op.ID))
		}
		return
	}
	if a == nil {
		c.misusedFree(op)
		return
	}
	c.givenTo(a)
	if op.Size != 0 && op.Size != a.bytes {
		c.violation(WrongSize, "a free of %d bytes at %s, which were %d when they were allocated in line %d", op.Size, c.pointer(a.ptr), a.bytes, a.line)
	}
	if c.options.StreamOrdered {
		on := c.stream(a.device, op.Stream)
		c.worked = true
		c.performed(c.gpu.EndLifetimeOn(a.device, on.handle, a.ptr, "free"))
		a.told = c.gpu.Reached(on.stream)
	} else if on := *c.streams.at(a.device, op.Stream); on != nil && on != a.on && on.destroyed == 0 {
		a.told = c.gpu.Reached(on.stream)
	}
	c.endLife(a)
}

func (c *checker) misusedFree(op *trace.Op) {
	a := c.memory.freed(op.ID)
	switch {
	case a != nil && a.lent:
		a.lent = false // a callback was faster
	case a != nil:
		c.violation(DoubleFree, "%s (%d bytes, allocated in line %d) was freed before, in line %d", c.pointer(a.ptr), a.bytes, a.line, a.freed)
	case c.memory.wasFreed(op.ID):
		c.violation(DoubleFree, "%s was freed before, more than %d frees ago", c.name(op.ID), mostFreed)
	default:
		c.violation(ForeignFree, "%s is not allocated, and was not before, as far as is remembered", c.name(op.ID))
	}
	c.leaveReference()
}

// pointer is an address as the log writes it.
func (c *checker) pointer(p spec.Ptr) string { return c.given.pointer(p) }

// name is what an allocation that nobody knows is called: by its address, if that is its
// number.
func (c *checker) name(id int64) string {
	if id >= 1<<20 {
		return c.pointer(spec.Ptr(id))
	}
	return "id " + decimal(id)
}

// endLife ends a life. An event at the end of each recorded stream says what the
// allocator has to wait for, see completed.
func (c *checker) endLife(a *allocation) {
	known := c.gpu.Known()
	if !c.options.StreamOrdered {
		if known != (happensbefore.Clock{}) {
			a.told.Join(known)
		}
		if reached := c.gpu.Reached(a.on.stream); a.told == (happensbefore.Clock{}) {
			a.told = reached
		} else {
			a.told.Join(reached)
		}
		for _, u := range a.recorded() {
			a.told.Join(c.gpu.Reached(u.on.stream))
		}
	}
	c.gpu.Freed(a.ptr)
	c.memory.end(a, c.op.Line)
	c.memory.passedOn.put(a.Range(), known)
	c.forgetWaiting(a.ptr)
	for _, u := range a.recorded() {
		status, err := c.gpu.CaptureStatus(u.device, u.on.handle)
		if err != nil || status.Status != spec.CaptureNone {
			continue
		}
		if event, err := c.gpu.CreateEvent(u.device); err == nil {
			_ = c.gpu.RecordEvent(event, u.device, u.on.handle)
			w := c.memory.waiting[a.ptr]
			if w == nil {
				w = &waiting{of: a}
				c.memory.waiting[a.ptr] = w
			}
			w.events = append(w.events, event)
		}
	}
	if c.idle != nil && a.uses == nil {
		c.idle.freed(a)
	}
}

// completed: the allocator says that a freed block can be reused. It is taken at its
// word that it has seen the recorded streams' work before the free come to its end.
func (c *checker) completed(ptr spec.Ptr) {
	w := c.memory.waiting[ptr]
	if w == nil {
		return
	}
	for _, event := range w.events {
		_ = c.gpu.SynchronizeEvent(event)
	}
	c.memory.passedOn.put(w.of.Range(), c.gpu.Known())
	if c.idle != nil {
		c.idle.freed(w.of)
	}
	c.forgetWaiting(ptr)
}

// forgetWaiting forgets what freed memory waits for.
func (c *checker) forgetWaiting(ptr spec.Ptr) {
	if w := c.memory.waiting[ptr]; w != nil {
		for _, event := range w.events {
			_ = c.gpu.DestroyEvent(event)
		}
		delete(c.memory.waiting, ptr)
	}
}

// restore: a pool was set back.
func (c *checker) restore(op *trace.Op) {
	for _, id := range op.Freed {
		if a := c.memory.allocated(id); a != nil {
			c.endLife(a)
		}
	}
	for _, id := range op.Live {
		if a := c.memory.freed(id); a != nil && c.memory.allocated(id) == nil {
			again := *a
			again.uses, again.thread = nil, op.Thread
			c.begin(&again)
		}
	}
}
