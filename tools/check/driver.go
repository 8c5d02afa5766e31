package check

import (
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// driver does again what the driver did, at the addresses that it gave. A log has
// all of its calls or none; which of the two shows at the first malloc. If it has
// none, the whole address space is one piece of memory.
type driver struct {
	c        *checker
	scripts  []*fakegpu.Script // by device
	recorded bool              // the log has had driver calls
	silent   bool              // it has had a malloc before any
}

func newDriver(c *checker) driver {
	d := driver{c: c}
	for dev := range c.header.Devices {
		script := fakegpu.NewScript()
		c.gpu.UseScript(spec.Device(dev), script)
		d.scripts = append(d.scripts, script)
	}
	return d
}

// need makes memory of everything if the log has no driver calls.
func (d *driver) need(dev spec.Device) error {
	if d.recorded || d.silent {
		return nil
	}
	if d.c.header.Devices > 1 {
		return d.c.bad("a log of several devices must have driver calls (segment_alloc in \"events\"), and there is none before this malloc")
	}
	d.silent = true
	d.c.memory.ordered = !d.c.given.table()
	const first = 512
	return d.obtain(dev, spec.Range{Ptr: first, Bytes: addressSpace - first})
}

func (d *driver) obtain(dev spec.Device, r spec.Range) error {
	d.scripts[dev].Push(r.Ptr, r.Bytes)
	got, err := d.c.gpu.Malloc(dev, r.Bytes)
	if err != nil || got != r.Ptr {
		return d.c.bad("the driver is said to have given %d bytes at %s, where it has given memory before", r.Bytes, d.c.pointer(r.Ptr))
	}
	return nil
}

// did does what the allocator did in an operation, as far as it concerns the device.
func (d *driver) did(op *trace.Op) error {
	for _, e := range op.Expect.Entries {
		if err := d.event(op, e); err != nil {
			return err
		}
	}
	return nil
}

func (d *driver) event(op *trace.Op, e spec.TraceEntry) error {
	r := spec.Range{Ptr: e.Addr, Bytes: e.Size}
	switch e.Action {
	case spec.ActionSegmentAlloc, spec.ActionSegmentMap, spec.ActionSegmentFree, spec.ActionSegmentUnmap:
		if d.silent {
			return d.c.bad("driver calls are recorded from here on only, after memory was allocated")
		}
		d.recorded = true
		if err := d.c.checkRange(r); err != nil {
			return err
		}
	}
	switch e.Action {
	case spec.ActionSegmentAlloc:
		return d.asked(op, d.obtain(op.Device, r), r)
	case spec.ActionSegmentMap:
		if err := d.c.gpu.AddMapped(op.Device, r); err != nil {
			return d.c.bad("%d bytes at %s are said to be mapped: %v", r.Bytes, d.c.pointer(r.Ptr), err)
		}
		return d.asked(op, nil, r)
	case spec.ActionSegmentFree:
		d.returned(r)
		if err := d.c.gpu.Free(op.Device, r.Ptr); err != nil {
			return d.c.bad("%s is said to have been returned to the driver: %v", d.c.pointer(r.Ptr), err)
		}
	case spec.ActionSegmentUnmap:
		d.returned(r)
		if err := d.c.gpu.RemoveMapped(r); err != nil {
			return d.c.bad("%d bytes at %s are said to be unmapped: %v", r.Bytes, d.c.pointer(r.Ptr), err)
		}
	case spec.ActionFreeCompleted:
		d.c.completed(e.Addr)
	case spec.ActionFreeRequested:
		if a, allocated := d.c.memory.byPtr.Get(e.Addr); allocated && a.lent {
			d.c.endLife(a)
		}
	}
	return nil
}

// asked: the driver has given memory, in an operation of the program.
func (d *driver) asked(op *trace.Op, err error, r spec.Range) error {
	if err == nil && d.c.idle != nil && op.Kind == trace.OpMalloc {
		d.c.idle.asked(d.c, op, r)
	}
	return err
}

// returned: memory goes back to the driver, and should not be allocated.
func (d *driver) returned(r spec.Range) {
	d.stillAllocated(r)
	if d.c.idle != nil {
		d.c.idle.take(r)
	}
}

// stillAllocated looks whether memory that is returned to the driver is allocated.
func (d *driver) stillAllocated(r spec.Range) {
	for _, a := range d.c.memory.within(r) {
		d.c.violation(Returned, "%d bytes at %s, allocated in line %d, are still allocated, and %d bytes from %s on were returned to the driver", a.bytes, d.c.pointer(a.ptr), a.line, r.Bytes, d.c.pointer(r.Ptr))
	}
}
