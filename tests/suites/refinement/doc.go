// Package refinement holds the reference allocator to the model, step by step.
//
// The model (model/bounded) says which states there are on a device of a few units of
// memory, and which steps lead from one to another; it is equal to the TLA+ text, state
// for state and edge for edge (tests/suites/tla). What is missing is that the code does the
// same. It is shown in both directions.
//
// From the code to the model: Refine maps an allocator, looked at through
// spec.Inspector, and its device, to a state of the model. After every operation of a
// random program there must be a step of the model, with the operation's label, from
// the state before to the state after (TestEveryOperationIsAStep).
//
// From the model to the code: every edge of an explored graph is driven through the
// allocator at least once, on one long walk (Tour), and the allocator must be where the
// edge leads (TestEveryStepIsTaken).
//
//	world.go    the allocator on its small device, and how a step is done
//	queue.go    the work in a stream of the device
//	address.go  where the device puts memory
//	refine.go   the map
//	tour.go     the walk over all edges
package refinement
