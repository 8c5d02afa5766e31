// Package refinement compares the reference allocator with the model, step by step.
//
// The model (model/bounded) has the states of an allocator on a device of a few units of
// memory, and the steps between them. Its graph is that of the TLA+ specification
// (tests/tla). This package shows that the code has the same steps, in both
// directions.
//
// From the code to the model: Refine is the refinement mapping. It maps the allocator, read
// through spec.Inspector, and its device to a state of the model. For every operation of a
// random program the model must have a step with the operation's label from the state
// before to the state after (TestEveryOperationIsAStep).
//
// From the model to the code: every edge of an explored graph is taken by the allocator at
// least once, on one long walk (Tour), and the allocator must be in the edge's target state
// the first time (TestEveryStepIsTaken).
//
//	system.go      the allocator on its small device, and how a step is done
//	pools.go       the steps on private pools
//	checkpoint.go  the steps on checkpoints
//	queue.go       the work in a stream of the device
//	address.go     the addresses of the device's memory
//	two_step.go    the steps of a malloc that releases the lock
//	calls.go       mallocs that wait around their driver calls
//	faults.go      the steps in which a driver call fails
//	truth.go       what the program did, and what reached the driver
//	refine.go      the refinement mapping
//	step.go        the comparison of a step
//	tour.go        the walk over all edges
package refinement
