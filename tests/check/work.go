package check

import (
	"fmt"
	"strconv"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// work does what the program asked of the device. Work completes at once here; whether
// it comes in the right order does not depend on when it does.
func (c *checker) work(op *trace.Op) {
	switch op.Kind {
	case trace.OpRecordStream:
		c.record(op)
	case trace.OpKernel:
		c.launch(op)
	case trace.OpCopy:
		c.copy(op)
	case trace.OpPeerAccess:
		c.performed(c.gpu.EnablePeerAccess(op.Device, op.Peer))
	case trace.OpNeedMemoryCallback:
		for _, id := range op.Frees {
			if a := c.memory.out[id]; a != nil {
				a.lent = true
			}
		}
	case trace.OpOpenShared:
		c.memory.out[op.ID] = &allocation{id: op.ID, opened: true, line: op.Line}
	case trace.OpCloseShared:
		delete(c.memory.out, op.ID)
	case trace.OpWaitStream, trace.OpRecordEvent, trace.OpWaitEvent, trace.OpSynchronize,
		trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpGraphLaunch, trace.OpGraphDestroy:
		c.performed(c.program.Perform(op).Err)
	}
}

// performed tells if the device did not do what the log says it did.
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

// find is an allocation that is named, which has to be out.
func (c *checker) find(id int64, what string) *allocation {
	a := c.memory.out[id]
	if a != nil {
		return a
	}
	if before := c.memory.freed[id]; before != nil {
		c.violation(NotAllocated, "%s %v (%d bytes, given out in line %d), which was freed in line %d", what, before.ptr, before.bytes, before.line, before.freed)
	} else {
		c.violation(NotAllocated, "%s %s, which is not out", what, c.name(id))
	}
	c.leaveReference()
	return nil
}

func (c *checker) record(op *trace.Op) {
	a := c.find(op.ID, "a stream was recorded for")
	if a == nil || a.opened {
		return
	}
	u := use{op.Device, c.stream(op.Device, op.Stream)}
	if u == (use{a.device, a.stream}) {
		return
	}
	for _, other := range a.uses {
		if other == u {
			return
		}
	}
	a.uses = append(a.uses, u)
}

// ranges are the parts of allocations that work touches.
func (c *checker) ranges(of []trace.OpRange) (found []spec.Range, owners []*allocation) {
	for _, r := range of {
		a := c.find(r.ID, "work touches")
		if a == nil || a.opened {
			continue
		}
		if r.Offset > a.bytes || r.Bytes > a.bytes-r.Offset {
			c.violation(NotAllocated, "work touches %d bytes from byte %d of %v on, which has %d (given out in line %d)", r.Bytes, r.Offset, a.ptr, a.bytes, a.line)
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

func (c *checker) launch(op *trace.Op) {
	l := spec.Launch{Device: op.Device, Stream: c.stream(op.Device, op.Stream), Name: lineName(op.Name, op.Line)}
	l.Reads, _ = c.ranges(op.Reads)
	l.Writes, _ = c.ranges(op.Writes)
	c.performed(c.gpu.Launch(l))
}

func (c *checker) copy(op *trace.Op) {
	from, source := c.ranges(op.Reads)
	to, target := c.ranges(op.Writes)
	if len(from) != 1 || len(to) != 1 {
		return
	}
	c.performed(c.gpu.Copy(spec.Copy{
		Device: op.Device, Stream: c.stream(op.Device, op.Stream),
		Dst: to[0].Ptr, DstDevice: target[0].device, Src: from[0].Ptr, SrcDevice: source[0].device,
		Bytes: min(from[0].Bytes, to[0].Bytes),
	}))
}

// lineName is what work and memory are called in reports: by the line of the log.
func lineName(name string, line int) string {
	if name == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", name, line)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
