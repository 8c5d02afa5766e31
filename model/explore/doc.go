// Package explore is an explicit-state model checker. It explores all reachable states of
// a specification and all steps between them, breadth first, so that a counterexample has
// the least number of steps.
//
// # What is explored
//
// A Specification has initial states and, for each state, the possible steps, each with a
// label: the name of an action with its arguments. It encodes a state as bytes, the key.
// Two states are equal exactly if their keys are. Three kinds of properties are checked:
// of each state (Invariant), of each step (StepProperty), and of all endless runs
// (LeadsTo, see liveness.go).
//
// # Counts
//
// States and edges are counted as TLC counts them, so that the numbers can be compared.
// Generated counts the initial states and every step of every state. States and edges are
// the distinct ones: two steps between the same states are one edge if they have the same
// label. The depth is the number of levels; the initial states are the first level.
//
// # Parallel exploration
//
// The levels are explored one after the other, each in batches (level.go). The steps of a
// batch are computed in parallel. Then the new states among them are found, in parallel
// too: the set of known states is partitioned by hash, one part for each worker (set.go).
// Last, the new states are numbered, in the order in which a single worker would find
// them. So no result depends on the number of workers.
//
// The set keeps either whole keys, or only 128 bits of a hash of each. Hashes need a
// fraction of the memory; a state is missed with a probability below n*n/2^129.
//
// # Symmetry
//
// Where states differ only by a permutation (of the numbers of streams), one state of each
// class is enough. Options.Symmetry yields the variants of a state. The least key of all
// variants represents the class. The counts are then those of the classes.
package explore
