package play

import (
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The operations with pools, asked again as they were recorded.

// repeated are the operations that a run repeats.
var repeated = map[trace.OpKind]func(*runner, *history.PoolOperation) error{
	trace.OpEmptyCache:  (*runner).emptyPool,
	trace.OpPoolCreate:  (*runner).createPool,
	trace.OpPoolBegin:   (*runner).beginPool,
	trace.OpPoolEnd:     (*runner).endPool,
	trace.OpPoolRelease: (*runner).releasePool,
	trace.OpPoolDelete:  (*runner).deletePool,
	trace.OpCheckpoint:  (*runner).checkpoint,
	trace.OpRestore:     (*runner).restore,
}

func (r *runner) poolOperation(op *history.PoolOperation) error { return repeated[op.Kind](r, op) }

func (r *runner) createPool(op *history.PoolOperation) error {
	return r.alloc.CreatePool(0, op.Pool, spec.PoolOptions{UseOnOOM: op.UseOnOOM, NoSplit: op.NoSplit})
}

func (r *runner) beginPool(op *history.PoolOperation) error {
	return r.alloc.BeginAllocateToPool(0, op.Pool, filterOf(op))
}

func (r *runner) endPool(op *history.PoolOperation) error {
	return r.alloc.EndAllocateToPool(0, op.Pool)
}

func (r *runner) releasePool(op *history.PoolOperation) error { return r.alloc.ReleasePool(0, op.Pool) }

func (r *runner) emptyPool(op *history.PoolOperation) error { return r.alloc.EmptyPool(op.Pool) }

func (r *runner) deletePool(op *history.PoolOperation) error {
	if err := r.alloc.ReleasePool(0, op.Pool); err != nil {
		return err
	}
	return r.alloc.EmptyPool(op.Pool)
}

func (r *runner) checkpoint(op *history.PoolOperation) error {
	state, err := r.alloc.Checkpoint(0, op.Pool)
	r.states[op.State] = state
	return err
}

// restore: what is live afterwards lies where it lay.
func (r *runner) restore(op *history.PoolOperation) error {
	_, err := r.alloc.Restore(0, r.states[op.State])
	return err
}

// filterOf accepts the requests that the recorded pool_begin accepted. No capture is
// under way here; its stream stands for it.
func filterOf(op *history.PoolOperation) spec.RequestFilter {
	if op.By == trace.ByThread {
		return spec.ForThread(op.Thread)
	}
	return spec.ForStream(op.On)
}
