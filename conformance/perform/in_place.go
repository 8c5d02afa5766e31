package perform

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// What allocators other than PyTorch's do with memory that is allocated. Whether an allocator that has
// the methods can do it is a method as well, since those that are called from outside differ.

// An Aligner is an allocator whose requests name an alignment, a power of two.
type Aligner interface {
	Aligns() bool
	MallocAligned(r spec.Request, align uint64) (spec.Ptr, error)
}

// A Resizer is an allocator that lets an allocation grow or shrink where it is. The answer of one that
// cannot is a *spec.OutOfMemoryError, and the allocation stays as it was.
type Resizer interface {
	Resizes() bool
	Resize(p spec.Ptr, bytes uint64) error
}

// A Sleeper is an allocator that gives the memory of all allocations up, and gets memory for them again
// at the same addresses. Nothing touches them meanwhile.
type Sleeper interface {
	Sleeps() bool
	Sleep() error
	Wake() error
}

func (m *machine) resize(op *trace.Op) error {
	a, live := m.allocations[op.ID]
	if !live {
		return ErrSkipped
	}
	if err := m.allocator.(Resizer).Resize(a.ptr, op.Size); err != nil {
		return err
	}
	a.bytes = op.Size
	m.allocations[op.ID] = a
	return nil
}
