package check

import (
	"strconv"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// treatment is what is done when a log has an operation, before and behind what it says that the driver did in it.
type treatment struct {
	before func(c *checker, op *trace.Op)
	behind func(c *checker, op *trace.Op) error
}

// treatments says what is done with an operation, by what it does with allocations: a log
// is held to what its program and its allocator do with memory. Work completes at once
// here; whether it comes in the right order does not depend on when it does.
var treatments = [...]treatment{
	trace.MemoryNone:      {behind: (*checker).device},
	trace.MemoryAllocates: {behind: (*checker).allocated},
	trace.MemoryFrees:     {before: (*checker).free},
	trace.MemoryRestores:  {before: (*checker).restore},
	trace.MemoryRecords:   {behind: (*checker).record},
	trace.MemoryTouches:   {behind: (*checker).launch},
	trace.MemoryCopies:    {behind: (*checker).copy},
	trace.MemoryLends: {behind: func(c *checker, op *trace.Op) error {
		for _, id := range op.Frees {
			if a := c.memory.allocated(id); a != nil {
				a.lent = true
			}
		}
		return nil
	}},
	trace.MemoryResizes: {behind: func(c *checker, _ *trace.Op) error {
		return c.bad("a log with memory that is resized cannot be checked")
	}},
	// it stays the program's
	trace.MemoryShares: {behind: func(*checker, *trace.Op) error { return nil }},
	trace.MemoryOpens: {behind: func(c *checker, op *trace.Op) error {
		c.memory.name(&allocation{id: op.ID, device: op.Device, on: c.legacyStream(op.Device), opened: true, line: op.Line})
		return nil
	}},
	trace.MemoryCloses: {behind: func(c *checker, op *trace.Op) error {
		c.memory.forget(op.ID)
		return nil
	}},
}

// device does what the program asked of the device, beside work that touches memory. Of
// the allocator's calls only what they made the driver do matters here, except that peer
// access is the device's as well. How fast a device works, and how much memory it has
// left, does not matter; what graph trees do shows in no operation of the program.
func (c *checker) device(op *trace.Op) error {
	switch {
	case op.Kind == trace.OpWaitStream:
		c.play(op)
	case op.Kind == trace.OpPeerAccess:
		c.performed(c.gpu.EnablePeerAccess(op.Device, op.Peer))
	case op.Kind.Target() == trace.TargetDevice:
		c.deviceCall(op)
	}
	return nil
}

func (c *checker) deviceCall(op *trace.Op) {
	switch op.Kind {
	case trace.OpCreateStream:
		c.createStream(op)
	case trace.OpDestroyStream:
		c.destroyStream(op)
	case trace.OpSynchronizeDevice:
		c.shown.waits = true
		c.performed(c.gpu.SynchronizeDevice(op.Device))
	case trace.OpQueryStream:
		if op.Complete {
			c.shown.waits = true
			c.gpu.SeeStream(c.stream(op.Device, op.Stream).stream)
		}
	case trace.OpQueryEvent:
		if op.Complete { // as it is here as well, since work completes at once
			c.play(op)
		}
	case trace.OpWaitThread:
		c.gpu.OrderThreads(op.Other, op.Thread)
	case trace.OpEndThread:
		c.endThread(op)
	default:
		c.play(op)
	}
}

// play performs an operation on events, graphs, or two streams.
func (c *checker) play(op *trace.Op) {
	s := c.stream(op.Device, op.Stream)
	if op.Kind == trace.OpWaitStream {
		if done, err := c.gpu.WaitStream(s.stream, c.stream(op.Device, op.On).stream); done {
			c.performed(err)
			c.shown.waits = true
			return
		}
	}
	for len(c.roomy.Streams) < len(c.header.Streams) {
		c.roomy.Streams = append(c.roomy.Streams, 0)
	}
	c.roomy.Streams[op.Stream] = s.handle
	if op.Kind == trace.OpWaitStream {
		c.roomy.Streams[op.On] = c.stream(op.Device, op.On).handle
	}
	out := c.program.Perform(op)
	c.performed(out.Err)
	c.shown.met(op, out.Skipped)
	if op.Kind == trace.OpGraphLaunch {
		c.worked = true
	}
}

// performed adds a violation if the device did not do what the log says it did.
func (c *checker) performed(err error) {
	if err != nil {
		c.violation(DeviceRefuses, "%s: %v", c.op.Kind, err)
	}
}

// find is an allocation that is named, which has to be allocated.
func (c *checker) find(id int64, what string) *allocation {
	a := c.memory.allocated(id)
	if a != nil {
		return a
	}
	if before := c.memory.freed(id); before != nil {
		c.violation(NotAllocated, "%s %s (%d bytes, allocated in line %d), which was freed in line %d", what, c.pointer(before.ptr), before.bytes, before.line, before.freed)
	} else {
		c.violation(NotAllocated, "%s %s, which is not allocated", what, c.name(id))
	}
	c.leaveReference()
	return nil
}

// record adds a stream use to an allocation.
func (c *checker) record(op *trace.Op) error {
	a := c.find(op.ID, "a stream was recorded for")
	if a == nil || a.opened {
		return nil
	}
	c.givenTo(a)
	a.record(use{op.Device, c.stream(op.Device, op.Stream), op.Line})
	return nil
}

// record adds a stream use, once.
func (a *allocation) record(u use) {
	key := deviceStream{u.device, u.on.handle}
	if key == (deviceStream{a.device, a.on.handle}) || a.uses != nil && a.uses.met[key] {
		return
	}
	if a.uses == nil {
		a.uses = &uses{met: map[deviceStream]bool{}}
	}
	a.uses.met[key] = true
	a.uses.list = append(a.uses.list, u)
}

// touched are parts of allocations, and which.
type touched struct {
	ranges []spec.Range
	owners []*allocation
}

// touches sets t to the parts of allocations that work touches.
func (c *checker) touches(of []trace.OpRange, t *touched) {
	t.ranges, t.owners = t.ranges[:0], t.owners[:0]
	for _, r := range of {
		a := c.find(r.ID, "work touches")
		if a == nil || a.opened {
			continue
		}
		c.givenTo(a)
		if r.Offset > a.bytes || r.Bytes > a.bytes-r.Offset {
			c.violation(NotAllocated, "work touches %d bytes from byte %d of %s on, which has %d (allocated in line %d)", r.Bytes, r.Offset, c.pointer(a.ptr), a.bytes, a.line)
			continue
		}
		if r.Bytes == 0 {
			r.Bytes = a.bytes - r.Offset
		}
		t.ranges = append(t.ranges, spec.Range{Ptr: a.ptr + spec.Ptr(r.Offset), Bytes: r.Bytes})
		t.owners = append(t.owners, a)
	}
}

func (c *checker) launch(op *trace.Op) error {
	if len(op.Reads)+len(op.Writes) > 0 {
		c.worked = true
	}
	c.touches(op.Reads, &c.reads)
	c.touches(op.Writes, &c.writes)
	if op.Kind == trace.OpHostAccess {
		c.gpu.HostAccess(op.Name, c.reads.ranges, c.writes.ranges)
		return nil
	}
	c.performed(c.gpu.LaunchOn(c.stream(op.Device, op.Stream).stream, spec.Launch{
		Device: op.Device, Name: op.Name, Reads: c.reads.ranges, Writes: c.writes.ranges,
	}))
	return nil
}

func (c *checker) copy(op *trace.Op) error {
	c.touches(op.Reads, &c.reads)
	c.touches(op.Writes, &c.writes)
	from, to := c.reads.ranges, c.writes.ranges
	if len(from) != 1 || len(to) != 1 {
		return nil
	}
	c.worked = true
	c.performed(c.gpu.Copy(spec.Copy{
		Device: op.Device, Stream: c.stream(op.Device, op.Stream).handle,
		Dst: to[0].Ptr, DstDevice: c.writes.owners[0].device, Src: from[0].Ptr, SrcDevice: c.reads.owners[0].device,
		Bytes: min(from[0].Bytes, to[0].Bytes),
	}))
	return nil
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
