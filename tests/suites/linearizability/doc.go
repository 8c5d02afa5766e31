// Package linearizability checks an allocator that several threads use at once
// against the sequential specification in package model: whatever the threads see
// must be what they could have seen one after the other.
//
// # The property
//
// A history is a set of calls, each with what came of it and the times at which it
// began and ended. It is linearizable if every call can be given a moment between
// its beginning and its end, so that doing the calls one by one in the order of
// these moments, by the specification, gives every call what it got. Porcupine
// (github.com/anishathalye/porcupine) searches for such an order.
//
// A malloc for which the allocator's lock is released on the way is not one moment
// but several, in order, all within the call: the search of the cache, what the
// driver answers, the registration of the new segment. See package model for the
// actions, and check.go for how they become operations of Porcupine's.
//
// # Where histories come from
//
// Real goroutines meet in an interesting way rarely, and never twice. So most
// histories here are made by a scheduler (scheduler.go) under which only one
// thread runs at a time, and says itself where others may run instead: between two
// operations, and where the allocator has released its lock, or has not taken it
// yet (pause.go). No thread ever waits for a lock, since nobody else runs while
// one is held. What is run where is a schedule, and a policy chooses it:
//
//	exhaustive.go    all schedules, depth first
//	random.go        any, as something random says
//	replay.go        one that was printed
//
// Goroutines that run freely are checked as well (parallel.go): they meet inside
// the locks, where the scheduler never stops a thread, and they are what the race
// detector needs to see.
//
// A program says what the threads do, in words (program.go), and a setup on what
// (setup.go). What fails is printed as a schedule of the program, and where the
// calls did not overlap, as a trace too (counterexample.go).
package linearizability
