package play

import (
	"sync/atomic"

	"gaugeblock/tools/replay"
)

// MemoryBound is what runs that are made at the same time may take together. When it was
// exceeded once, all of them end.
type MemoryBound struct {
	Limit    uint64 // bytes; 0: there is none
	exceeded atomic.Bool
}

// budget is that of one run.
func (b *MemoryBound) budget() *runBudget {
	if b == nil || b.Limit == 0 {
		return nil
	}
	return &runBudget{b, replay.NewBudget(b.Limit)}
}

// Err says that the bound was exceeded; nil if it was not.
func (b *MemoryBound) Err() error {
	if b != nil && b.exceeded.Load() {
		return &replay.ExcessError{Limit: b.Limit}
	}
	return nil
}

type runBudget struct {
	bound *MemoryBound
	own   *replay.Budget
}

// check is to be called for each request.
func (b *runBudget) check() error {
	if b == nil {
		return nil
	}
	if err := b.bound.Err(); err != nil {
		return err
	}
	err := b.own.Check()
	if err != nil {
		b.bound.exceeded.Store(true)
	}
	return err
}
