// Package torch sets the reference beside PyTorch's own allocator (binary): the same
// operations on both, each on a fake device of its own, compared after every one.
//
//	pytorch.go    where PyTorch is, and its allocator as a replay.Factory
//	pair.go       the two, and what is compared after an operation
//	program.go    programs: made up at random, or known
//	avoided.go    what most programs keep away from
//	hazards.go    what PyTorch's device says of work on memory that is used otherwise
//	rows.go       the deviations as rules that recognise a difference
//	mismatch.go   what a rule is told: the difference, and the state before it
//	worker.go     programs are performed by processes that may crash
//	minimise.go   the shortest program that still differs
//	cplusplus.go  the same program in C++
//	search.go     many programs, and the report
//	edges.go      every step of the specification, by walks through its states
//	follow.go     a walk, performed by a worker
package torch
