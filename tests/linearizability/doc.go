// Package linearizability checks an allocator that several threads use at once against
// the sequential specification in package model: the results of the calls must be possible
// for calls one after the other.
//
// # The property
//
// A history is a set of calls, each with its outcome and the times of its beginning and
// end. It is linearizable if each call can be assigned a time between its beginning and its
// end, such that the specification, with the calls in the order of these times, gives every
// call its outcome. Porcupine (github.com/anishathalye/porcupine) searches for such an
// order.
//
// A malloc that releases the allocator's lock has several such times, in order, all within
// the call: the search of the cache, the driver call, the registration of the new segment.
// See package model for the actions, and check_test.go for how they become operations of
// Porcupine.
//
// # Where histories come from
//
// Interesting interleavings of goroutines are rare, and cannot be repeated. So most
// histories here are made by a scheduler (schedule_test.go). Under it only one thread runs at a
// time. A thread lets others run between two operations, and at points within them. The sequence of
// threads that run is a schedule. A policy chooses it:
//
//	exhaustive_test.go      all schedules, or all with few preemptions, depth first
//	random_policy_test.go   random ones, or random priorities of the threads
//	replay_test.go          one that was printed
//
// Of any allocator the points are those where it has released its lock or not taken it yet
// (pause_test.go). No thread ever waits for a lock then, since no other thread runs while one is
// held. Of the reference they are every lock, unlock, atomic, driver call and function of the
// program: the command interleave (interleave_test.go) builds it with package points, from sources
// that package instrument has rewritten. A thread can wait for a lock then. Each run is also
// checked for data races, deadlocks, broken invariants, and wrong calls of the driver. The
// abilities beside malloc and free are in abilities_test.go, and what the specification says of
// them in world_test.go.
//
// Goroutines under the Go scheduler are checked too (parallel_run_test.go).
//
// A program (program_test.go) has the operations of the threads; operation_kinds_test.go has the
// kinds of operations. A setup (setup_test.go) has the allocator and the devices. A failure is
// printed as a schedule of the program, and if no calls overlapped as a trace too
// (counterexample_test.go).
package linearizability
