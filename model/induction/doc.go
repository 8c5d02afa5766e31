// Package induction proves invariants of the core of the allocator by induction, at small
// bounds.
//
// Exploring (package explore) looks at the states that can be reached from the initial one.
// Here no state has to be reached. All states of the model that satisfy a conjunction of
// invariants are enumerated, whether or not any program leads to them, and every step is
// taken from each: the conjunction must hold afterwards. So the invariants do not follow
// from what happened to be reached, but from each other. A program may run for as long as
// it likes: only the size of a state is bounded, and not the number of steps.
//
// A conjunction of which a part is left out is not inductive: some step from a state that
// satisfies the rest breaks the rest. Such a step, a counterexample to induction, shows
// what the part is for.
//
//	conjunction_test.go  the invariants, and what each is about
//	universe_test.go     all states that satisfy them (layout_test.go, queues_test.go)
//	check_test.go        the steps from all states
//	without_test.go      counterexamples to induction without one of the invariants
//
// Invariants that package bounded has too have its predicates and names.
package induction
