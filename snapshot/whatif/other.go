package whatif

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The operations with pools, asked again as they were recorded.

// repeatedOp is such an operation, and its stream.
type repeatedOp struct {
	trace.Op
	stream spec.Stream
}

func (r *runner) other(op *repeatedOp) error {
	switch op.Kind {
	case trace.OpPoolCreate:
		return r.alloc.CreatePool(0, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
	case trace.OpPoolBegin:
		return r.alloc.BeginAllocateToPool(0, op.Pool, op.filter())
	case trace.OpPoolEnd:
		return r.alloc.EndAllocateToPool(0, op.Pool)
	case trace.OpPoolRelease:
		return r.alloc.ReleasePool(0, op.Pool)
	case trace.OpPoolDelete:
		if err := r.alloc.ReleasePool(0, op.Pool); err != nil {
			return err
		}
		return r.alloc.EmptyPool(op.Pool)
	case trace.OpEmptyCache:
		return r.alloc.EmptyPool(op.Pool)
	case trace.OpCheckpoint:
		state, err := r.alloc.Checkpoint(0, op.Pool)
		r.states[op.State] = state
		return err
	case trace.OpRestore: // what is live afterwards lies where it lay
		_, err := r.alloc.Restore(0, r.states[op.State])
		return err
	}
	return fmt.Errorf("%s cannot be asked again", op.Kind)
}

// filter accepts the requests that the recorded redirection accepted. No capture is
// under way here; its stream stands for it.
func (op *repeatedOp) filter() spec.RequestFilter {
	if op.By == trace.ByThread {
		return spec.ForThread(op.Thread)
	}
	return spec.ForStream(op.stream)
}
