package whatif

import (
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The operations with pools, asked again as they were recorded.

// repeatedOp is such an operation, and its stream.
type repeatedOp struct {
	trace.Op
	stream      spec.Stream
	live, freed []int32 // of a restore: the IDs of Op.Live and Op.Freed
}

func (r *runner) other(op *repeatedOp) error { return tracedKinds[op.Kind].again(r, op) }

func (r *runner) createPool(op *repeatedOp) error {
	return r.alloc.CreatePool(0, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
}

func (r *runner) beginPool(op *repeatedOp) error {
	return r.alloc.BeginAllocateToPool(0, op.Pool, op.filter())
}

func (r *runner) endPool(op *repeatedOp) error     { return r.alloc.EndAllocateToPool(0, op.Pool) }
func (r *runner) releasePool(op *repeatedOp) error { return r.alloc.ReleasePool(0, op.Pool) }
func (r *runner) emptyPool(op *repeatedOp) error   { return r.alloc.EmptyPool(op.Pool) }

func (r *runner) deletePool(op *repeatedOp) error {
	if err := r.alloc.ReleasePool(0, op.Pool); err != nil {
		return err
	}
	return r.alloc.EmptyPool(op.Pool)
}

func (r *runner) checkpoint(op *repeatedOp) error {
	state, err := r.alloc.Checkpoint(0, op.Pool)
	r.states[op.State] = state
	return err
}

// restore: what is live afterwards lies where it lay.
func (r *runner) restore(op *repeatedOp) error {
	_, err := r.alloc.Restore(0, r.states[op.State])
	return err
}

// filter accepts the requests that the recorded pool_begin accepted. No capture is
// under way here; its stream stands for it.
func (op *repeatedOp) filter() spec.RequestFilter {
	if op.By == trace.ByThread {
		return spec.ForThread(op.Thread)
	}
	return spec.ForStream(op.stream)
}
