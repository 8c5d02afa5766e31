package check

import (
	"fmt"
	"slices"
	"strconv"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// treatment is what is done when a log has an operation.
type treatment struct {
	do    func(c *checker, op *trace.Op) error
	first bool // before what the log says that the driver did in the operation
}

// treatments says what is done with an operation, by what it does with allocations: a log
// is held to what its program and its allocator do with memory. Work completes at once
// here; whether it comes in the right order does not depend on when it does.
var treatments = map[trace.MemoryEffect]treatment{
	trace.MemoryNone:      {do: (*checker).device},
	trace.MemoryAllocates: {do: (*checker).allocated},
	trace.MemoryFrees:     {do: (*checker).free, first: true},
	trace.MemoryRestores:  {do: (*checker).restore, first: true},
	trace.MemoryRecords:   {do: (*checker).record},
	trace.MemoryTouches:   {do: (*checker).launch},
	trace.MemoryCopies:    {do: (*checker).copy},
	trace.MemoryLends: {do: func(c *checker, op *trace.Op) error {
		for _, id := range op.Frees {
			if a := c.memory.allocated[id]; a != nil {
				a.lent = true
			}
		}
		return nil
	}},
	trace.MemoryShares: {do: func(*checker, *trace.Op) error { return nil }}, // it stays the program's
	trace.MemoryOpens: {do: func(c *checker, op *trace.Op) error {
		c.memory.allocated[op.ID] = &allocation{id: op.ID, opened: true, line: op.Line}
		return nil
	}},
	trace.MemoryCloses: {do: func(c *checker, op *trace.Op) error {
		delete(c.memory.allocated, op.ID)
		return nil
	}},
}

// device does what the program asked of the device, beside work that touches memory. Of
// the allocator's calls only what they made the driver do matters here, except that peer
// access is the device's as well. How fast a device works, and how much memory it has
// left, does not matter; what graph trees do shows in no operation of the program's.
func (c *checker) device(op *trace.Op) error {
	switch {
	case op.Kind == trace.OpPeerAccess:
		c.performed(c.gpu.EnablePeerAccess(op.Device, op.Peer))
	case op.Kind.Target() == trace.TargetDevice:
		c.performed(c.program.Perform(op).Err)
	}
	return nil
}

// performed adds a violation if the device did not do what the log says it did.
func (c *checker) performed(err error) {
	if err != nil {
		c.violation(DeviceRefuses, "%s: %v", c.op.Kind, err)
	}
}

// stream is the handle of an index. It comes into being when it is first named.
func (c *checker) stream(dev spec.Device, index int) spec.Stream {
	handle := c.header.Streams[index]
	if handle != 0 {
		_ = c.gpu.AddStream(dev, handle) // unless it is there
	}
	return handle
}

// find is an allocation that is named, which has to be allocated.
func (c *checker) find(id int64, what string) *allocation {
	a := c.memory.allocated[id]
	if a != nil {
		return a
	}
	if before := c.memory.freed[id]; before != nil {
		c.violation(NotAllocated, "%s %v (%d bytes, allocated in line %d), which was freed in line %d", what, before.ptr, before.bytes, before.line, before.freed)
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
	u := use{op.Device, c.stream(op.Device, op.Stream)}
	if u != (use{a.device, a.stream}) && !slices.Contains(a.uses, u) {
		a.uses = append(a.uses, u)
	}
	return nil
}

// ranges are the parts of allocations that work touches.
func (c *checker) ranges(of []trace.OpRange) (found []spec.Range, owners []*allocation) {
	for _, r := range of {
		a := c.find(r.ID, "work touches")
		if a == nil || a.opened {
			continue
		}
		if r.Offset > a.bytes || r.Bytes > a.bytes-r.Offset {
			c.violation(NotAllocated, "work touches %d bytes from byte %d of %v on, which has %d (allocated in line %d)", r.Bytes, r.Offset, a.ptr, a.bytes, a.line)
			continue
		}
		if r.Bytes == 0 {
			r.Bytes = a.bytes - r.Offset
		}
		found = append(found, spec.Range{Ptr: a.ptr + spec.Ptr(r.Offset), Bytes: r.Bytes})
		owners = append(owners, a)
	}
	return found, owners
}

func (c *checker) launch(op *trace.Op) error {
	l := spec.Launch{Device: op.Device, Stream: c.stream(op.Device, op.Stream), Name: lineName(op.Name, op.Line)}
	l.Reads, _ = c.ranges(op.Reads)
	l.Writes, _ = c.ranges(op.Writes)
	c.performed(c.gpu.Launch(l))
	return nil
}

func (c *checker) copy(op *trace.Op) error {
	from, source := c.ranges(op.Reads)
	to, target := c.ranges(op.Writes)
	if len(from) != 1 || len(to) != 1 {
		return nil
	}
	c.performed(c.gpu.Copy(spec.Copy{
		Device: op.Device, Stream: c.stream(op.Device, op.Stream),
		Dst: to[0].Ptr, DstDevice: target[0].device, Src: from[0].Ptr, SrcDevice: source[0].device,
		Bytes: min(from[0].Bytes, to[0].Bytes),
	}))
	return nil
}

// lineName is what work and memory are called in reports: by the line of the log.
func lineName(name string, line int) string {
	if name == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", name, line)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
