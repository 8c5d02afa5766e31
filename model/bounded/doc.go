// Package bounded is the model at bounds that are small enough to explore all states: a
// device of a few units of memory, a few streams, a few sizes. Each type that implements
// Module is the counterpart of a TLA+ module in tla/: the same constants, read from the
// same configurations; the same actions with the same names and arguments; the same
// states.
//
//	bounds.go              the constants of a configuration
//	caching_allocator.go   CachingAllocator.tla: malloc, free, streams, empty cache
//	private_pools.go       PrivatePools.tla: private pools and captures
//	checkpoint.go          Checkpoint.tla: checkpoints of pools
//	two_step_malloc.go     TwoStepMalloc.tla: mallocs that release the lock
//	settings.go            Settings.tla: max_split_size that changes
//	faults.go              Faults.tla: driver calls that fail
//	pool_faults.go         PoolFaults.tla, CaptureFaults.tla and CheckpointFaults.tla
//	two_faults.go          TwoFaults.tla
//	two_step_faults.go     TwoStepFaults.tla
//	check.go               a configuration: its module, and the properties to check
//	actions.go             the labels of steps
//	key.go                 a state as bytes: equal keys mean equal states
//	truth.go               what the program and the device did, in keys and texts
//	text.go                a state in TLA+ syntax, which is compared with TLC's
//	invariants.go          properties of states
//	properties.go          properties of steps, of failures, and of endless runs
//	served.go, owed.go     what a program is owed
//	trace.go               a counterexample as a trace
//	trace_two_step.go      the steps of a malloc that releases the lock
//
// The actions themselves are in package model, which knows nothing of TLA+. A unit of
// memory is a byte there, with a geometry to match. TLA+ addresses begin at 0, which in
// the model is the null pointer, so the model adds AddressBase.
package bounded

import "gaugeblock/model"

// State is a state of the model.
type State = model.State
