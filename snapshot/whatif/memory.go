package whatif

import (
	"runtime"
	"sync/atomic"

	"gaugeblock/tools/replay"
)

// memoryBound is what the runs of a comparison may take together. When it was exceeded once, every
// run of the comparison ends.
type memoryBound struct {
	limit    uint64 // bytes; 0: there is none
	exceeded atomic.Bool
}

// budget is that of one run.
func (b *memoryBound) budget() *runBudget {
	if b == nil || b.limit == 0 {
		return nil
	}
	return &runBudget{b, replay.NewBudget(b.limit)}
}

// err is the error of the comparison.
func (b *memoryBound) err() error {
	if b.exceeded.Load() {
		return &replay.ExcessError{Limit: b.limit}
	}
	return nil
}

type runBudget struct {
	bound *memoryBound
	own   *replay.Budget
}

// check is to be called for each request.
func (b *runBudget) check() error {
	if b == nil {
		return nil
	}
	if err := b.bound.err(); err != nil {
		return err
	}
	err := b.own.Check()
	if err != nil {
		b.bound.exceeded.Store(true)
	}
	return err
}

// compareWithin compares with the runs one after the other if those that run at the same time
// need more memory than is allowed.
func compareWithin(w *Workload, o Options) (*Comparison, error) {
	c, err := compare(w, o)
	if w.memory.err() == nil || o.Jobs == 1 {
		return c, err
	}
	c = nil
	runtime.GC() // the budget looks at what was found in use last
	o.Jobs = 1
	return compare(w, o)
}
