package explore

import (
	"fmt"
)

// Limits bound the memory of an exploration.
type Limits struct {
	Memory uint64 // bytes; 0: no limit
}

// A LimitError says that an exploration has ended because a limit was reached.
type LimitError struct {
	States int // that were found
	Reason string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("after %d states: %s", e.States, e.Reason)
}

// sized is an exploration.
type sized interface{ memory() (states int, bytes uint64) }

// check reports whether the memory suffices for another batch.
func (l Limits) check(e sized) error {
	states, bytes := e.memory()
	if l.Memory > 0 && bytes > l.Memory {
		return &LimitError{states, fmt.Sprintf("%d bytes of memory do not suffice", l.Memory)}
	}
	return nil
}

// memory is the states and the memory of an exploration.
func (e *exploration[S]) memory() (states int, bytes uint64) {
	bytes = e.known.bytes() + e.store.bytes()
	for i := range e.chunks {
		bytes += uint64(cap(e.chunks[i].keys) + 48*cap(e.chunks[i].successors))
	}
	return e.result.States, bytes
}
