package replay

import (
	"fmt"
	"runtime/metrics"

	"gaugeblock/spec/trace"
)

// DefaultMemory is how much a process keeps in memory for what it reads, in bytes,
// unless it is told otherwise.
const DefaultMemory = 2 << 30

// Budget bounds what is kept in memory for a file that is read operation by operation.
// What counts is the memory that the whole process has in use, as the garbage collector
// last found it.
type Budget struct {
	limit uint64
	calls uint
	live  [1]metrics.Sample
}

// NewBudget is one of n bytes, or of DefaultMemory if n is 0.
func NewBudget(limit uint64) *Budget {
	if limit == 0 {
		limit = DefaultMemory
	}
	b := &Budget{limit: limit}
	b.live[0].Name = "/gc/heap/live:bytes"
	return b
}

// Check is to be called after each operation. It looks now and then.
func (b *Budget) Check() error {
	const every = 256
	if b.calls++; b.calls%every != 0 {
		return nil
	}
	metrics.Read(b.live[:])
	if live := b.live[0].Value.Uint64(); live > b.limit {
		return &ExcessError{b.limit}
	}
	return nil
}

// An ExcessError says that more memory is needed than a budget allows.
type ExcessError struct{ Limit uint64 } // bytes

func (e *ExcessError) Error() string {
	return fmt.Sprintf("this needs more than %s of memory, which --max-memory raises", trace.SizeInWords(e.Limit))
}
