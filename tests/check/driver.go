package check

import (
	"slices"

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
	ranges   []reservation
	pages    map[spec.Ptr]spec.PageHandle
}

// reservation is a range for a segment that grows. When nothing is mapped in it any more
// it is released.
type reservation struct {
	spec.Range
	mapped uint64 // bytes
}

// pageSize is what pages are mapped in here, whatever the real ones were.
const pageSize = 2 * spec.MiB

// mostPages is how many are mapped at most, a TiB of them.
const mostPages = 1 << 19

func newDriver(c *checker) driver {
	d := driver{c: c, pages: map[spec.Ptr]spec.PageHandle{}}
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
	const first = 512
	return d.obtain(dev, spec.Range{Ptr: first, Bytes: addressSpace - first})
}

func (d *driver) obtain(dev spec.Device, r spec.Range) error {
	d.scripts[dev].Push(r.Ptr, r.Bytes)
	got, err := d.c.gpu.Malloc(dev, r.Bytes)
	if err != nil || got != r.Ptr {
		return d.c.bad("the driver is said to have given %d bytes at %v, where it has given memory before", r.Bytes, r.Ptr)
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
		return d.obtain(op.Device, r)
	case spec.ActionSegmentMap:
		return d.mapRange(op.Device, r)
	case spec.ActionSegmentFree:
		d.stillAllocated(r)
		if err := d.c.gpu.Free(op.Device, r.Ptr); err != nil {
			return d.c.bad("%v is said to have been returned to the driver: %v", r.Ptr, err)
		}
	case spec.ActionSegmentUnmap:
		d.stillAllocated(r)
		return d.unmap(r)
	case spec.ActionFreeCompleted:
		d.c.completed(e.Addr)
	case spec.ActionFreeRequested:
		if a, allocated := d.c.memory.byPtr.Get(e.Addr); allocated && a.lent {
			d.c.endLife(a)
		}
	}
	return nil
}

// stillAllocated looks whether memory that is returned to the driver is allocated.
func (d *driver) stillAllocated(r spec.Range) {
	for _, a := range d.c.memory.within(r) {
		d.c.violation(Returned, "%d bytes at %v, allocated in line %d, are still allocated, and %d bytes from %v on were returned to the driver", a.bytes, a.ptr, a.line, r.Bytes, r.Ptr)
	}
}

// mapRange maps pages, and reserves addresses for them where none are yet. A range
// begins where it is first mapped, as a rule; how long it is is not known, so it is made
// as long as PyTorch's, or as short as it has to be.
func (d *driver) mapRange(dev spec.Device, r spec.Range) error {
	if r.Bytes == 0 || r.Bytes%pageSize != 0 || uint64(r.Ptr)%pageSize != 0 {
		return d.obtain(dev, r)
	}
	if r.Bytes/pageSize > uint64(mostPages-len(d.pages)) {
		return d.c.bad("%d bytes at %v are said to be mapped, which makes more than a TiB", r.Bytes, r.Ptr)
	}
	if d.around(r) < 0 {
		long := max((d.c.header.TotalMemory/8*9+pageSize-1)/pageSize*pageSize, r.Bytes)
		if !d.reserve(dev, spec.Range{Ptr: r.Ptr, Bytes: long}) && !d.reserve(dev, r) {
			return d.c.bad("%d bytes at %v are said to be mapped, where the driver has given memory before", r.Bytes, r.Ptr)
		}
	}
	d.ranges[d.around(r)].mapped += r.Bytes
	for at := r.Ptr; at < r.End(); at += spec.Ptr(pageSize) {
		page, err := d.c.gpu.CreatePage(dev, pageSize, spec.SharePOSIX)
		if err == nil {
			err = d.c.gpu.MapPage(at, pageSize, page)
		}
		if err == nil {
			err = d.c.gpu.SetAccess(at, pageSize, dev)
		}
		if err != nil {
			return d.c.bad("%v is said to be mapped: %v", at, err)
		}
		d.pages[at] = page
	}
	return nil
}

// around is the index of the reservation that a range lies in, -1 if there is none.
func (d *driver) around(r spec.Range) int {
	return slices.IndexFunc(d.ranges, func(o reservation) bool { return o.Contains(r) })
}

func (d *driver) reserve(dev spec.Device, r spec.Range) bool {
	for _, o := range d.ranges {
		if o.Overlaps(r) {
			return false
		}
	}
	d.scripts[dev].PushRange(r.Ptr)
	got, err := d.c.gpu.ReserveAddress(dev, r.Bytes)
	if err != nil || got != r.Ptr {
		return false
	}
	d.ranges = append(d.ranges, reservation{Range: r})
	return true
}

func (d *driver) unmap(r spec.Range) error {
	for at := r.Ptr; at < r.End(); at += spec.Ptr(pageSize) {
		page, mapped := d.pages[at]
		if !mapped {
			return d.c.bad("%v is said to be unmapped, which is not mapped", at)
		}
		if err := d.c.gpu.UnmapPage(at, pageSize); err != nil {
			return d.c.bad("%v is said to be unmapped: %v", at, err)
		}
		_ = d.c.gpu.ReleasePage(page)
		delete(d.pages, at)
	}
	i := d.around(r)
	if d.ranges[i].mapped -= r.Bytes; d.ranges[i].mapped == 0 {
		_ = d.c.gpu.FreeAddress(d.ranges[i].Ptr, d.ranges[i].Bytes)
		d.ranges = slices.Delete(d.ranges, i, i+1)
	}
	return nil
}
