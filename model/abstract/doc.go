// Package abstract is AbstractMemory.tla in Go: memory that a program allocates, the work that
// uses it, and the order in which it runs. It is what an allocator promises, with nothing of how.
// The two have the same states and steps (tests/tla).
//
// The conformance kit judges allocators by the same promise, at level safe.
// conformance compares the kit's verdict on each step with Machine.IsStep.
//
//	state.go    the variables
//	order.go    queues, and what comes before what in them
//	judge.go    the rules: whether a step is one of an abstract memory
//	steps.go    what a program does, and what may come of it
//	machine.go  the bounds, and all states (explore.Specification)
package abstract
