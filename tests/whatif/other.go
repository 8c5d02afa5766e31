package whatif

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// The operations with pools, asked again as they were recorded.

// repeatedOp is such an operation, and its stream.
type repeatedOp struct {
	spec.Op
	stream spec.Stream
}

// savedState is a checkpoint, and where the allocations of that time lay.
type savedState struct {
	state spec.PoolState
	ptrs  []spec.Ptr
}

func (r *runner) other(op *repeatedOp) error {
	switch op.Kind {
	case spec.OpPoolCreate:
		return r.alloc.CreatePool(0, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
	case spec.OpPoolBegin:
		return r.alloc.BeginAllocateToPool(0, op.Pool, op.filter())
	case spec.OpPoolEnd:
		return r.alloc.EndAllocateToPool(0, op.Pool)
	case spec.OpPoolRelease:
		return r.alloc.ReleasePool(0, op.Pool)
	case spec.OpPoolDelete:
		if err := r.alloc.ReleasePool(0, op.Pool); err != nil {
			return err
		}
		return r.alloc.EmptyPool(op.Pool)
	case spec.OpEmptyCache:
		return r.alloc.EmptyPool(op.Pool)
	case spec.OpCheckpoint:
		state, err := r.alloc.Checkpoint(0, op.Pool)
		if r.states == nil {
			r.states = map[int]savedState{}
		}
		r.states[op.State] = savedState{state, slices.Clone(r.ptrs)}
		return err
	case spec.OpRestore:
		return r.restore(op)
	}
	return fmt.Errorf("%s cannot be asked again", op.Kind)
}

// filter accepts the requests that the recorded redirection accepted. No capture is
// under way here; its stream stands for it.
func (op *repeatedOp) filter() spec.RequestFilter {
	if op.By == spec.ByThread {
		return spec.ForThread(op.Thread)
	}
	return spec.ForStream(op.stream)
}

func (r *runner) restore(op *repeatedOp) error {
	saved := r.states[op.State]
	if _, err := r.alloc.Restore(0, saved.state); err != nil {
		return err
	}
	for _, id := range op.Freed {
		r.ptrs[id] = 0
	}
	for _, id := range op.Live {
		r.ptrs[id] = saved.ptrs[id]
	}
	return nil
}
