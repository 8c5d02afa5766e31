// Package unbounded proves the core promise of the allocator for any number of streams,
// segments, blocks, pieces of work and events, and for blocks of any size: what the program
// holds has one owner, and no other stream has work on it. An SMT solver (z3) does the proof,
// by induction over moves.
//
// A state is seen byte by byte, or unit by unit: to whom the driver has granted the unit, in
// which allocation it is, which events wait for it. Splitting and merging of free blocks do
// not change such a view, nor does best fit matter: a malloc may take any free units of its
// stream. So the moves do more than the allocator does, and what no sequence of moves can
// break, no allocator can whose steps are sequences of moves. That the steps of package
// bounded are sequences of moves is tested on all steps of small configurations, with
// segments and pages, private pools and captures, checkpoints, released locks and failing
// driver calls (TestStepsAreMoves). It is not proved.
//
// The texts of the theory are SMT-LIB. The solver gets them, and the test evaluates the same
// texts on states of package bounded.
//
//	theory_test.go   sorts, the relations of a state, the invariants
//	moves_test.go    what can happen
//	query_test.go    the obligations, as files for a solver
//	solver_test.go   z3
//	formula_test.go  the texts, evaluated in a finite state
package unbounded
