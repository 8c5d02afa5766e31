package check

import (
	"cmp"

	"github.com/tidwall/btree"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Rules that have to be switched on: not every allocator promises what they want.

// checkAlignment: addresses are multiples of Options.Alignment.
func (c *checker) checkAlignment(a *allocation) {
	if n := c.options.Alignment; n != 0 && uint64(a.ptr)%n != 0 {
		c.violation(Misaligned, "%d bytes were allocated at %s, which is no multiple of %d", a.bytes, c.pointer(a.ptr), n)
	}
}

// freeMemory is the freed allocations whose memory can be reused, whole or what is left
// of them, for Options.NeedlessCalls. A request that one of them would satisfy needs no
// call of the driver, if it is for the same stream and the allocation is less than twice
// as large: allocators keep sizes apart.
type freeMemory struct {
	byPtr  btree.Map[spec.Ptr, freedPart]
	bySize *btree.BTreeG[freedPart] // by device, stream, size, address
}

// freedPart is what is left of a freed allocation.
type freedPart struct {
	spec.Range
	device spec.Device
	stream spec.Stream
	line   int // of the free
}

func newFreeMemory() *freeMemory {
	return &freeMemory{bySize: btree.NewBTreeG(func(a, b freedPart) bool {
		return cmp.Or(cmp.Compare(a.device, b.device), cmp.Compare(a.stream, b.stream), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Ptr, b.Ptr)) < 0
	})}
}

// freed: the memory can be reused.
func (m *freeMemory) freed(a *allocation) {
	m.take(a.Range())
	m.put(freedPart{a.Range(), a.device, a.on.handle, a.freed})
}

func (m *freeMemory) put(p freedPart) {
	m.byPtr.Set(p.Ptr, p)
	m.bySize.Set(p)
}

// take removes a range; what is beside it stays.
func (m *freeMemory) take(r spec.Range) {
	from := r.Ptr
	m.byPtr.Descend(r.Ptr, func(at spec.Ptr, _ freedPart) bool {
		from = at
		return false
	})
	var overlapping []freedPart
	m.byPtr.Ascend(from, func(at spec.Ptr, p freedPart) bool {
		if p.Overlaps(r) {
			overlapping = append(overlapping, p)
		}
		return at < r.End()
	})
	for _, p := range overlapping {
		m.byPtr.Delete(p.Ptr)
		m.bySize.Delete(p)
		if p.Ptr < r.Ptr {
			m.put(freedPart{spec.Range{Ptr: p.Ptr, Bytes: uint64(r.Ptr - p.Ptr)}, p.device, p.stream, p.line})
		}
		if p.End() > r.End() {
			m.put(freedPart{spec.Range{Ptr: r.End(), Bytes: uint64(p.End() - r.End())}, p.device, p.stream, p.line})
		}
	}
}

// asked: the driver was asked for memory for a request.
func (m *freeMemory) asked(c *checker, op *trace.Op, r spec.Range) {
	want := freedPart{device: op.Device, stream: c.stream(op.Device, op.Stream).handle, Range: spec.Range{Bytes: op.Size}}
	m.bySize.Ascend(want, func(p freedPart) bool {
		if p.device == want.device && p.stream == want.stream && p.Bytes < 2*op.Size {
			c.violation(NeedlessCall, "the driver was asked for %d bytes, while %d bytes at %s were free since line %d, enough for the request of %d", r.Bytes, p.Bytes, c.pointer(p.Ptr), p.line, op.Size)
		}
		return false
	})
}

// allocated: the memory is not free any more.
func (m *freeMemory) allocated(a *allocation) { m.take(a.Range()) }
