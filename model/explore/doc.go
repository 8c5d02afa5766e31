// Package explore looks at everything that a specification can do: every state
// that can be reached, every step between them, breadth first, and so with the
// shortest way to whatever is wrong.
//
// # What is explored
//
// A Specification has initial states and, for each state, the steps that can follow,
// each with a label: the name of an action with its arguments. It writes a state as
// bytes, its key; two states are the same exactly if their keys are. From this alone
// comes the graph. What should be true of it is asked on the way: of each state
// (Invariant), of each step (StepProperty), and of all that can go on for ever
// (LeadsTo, see liveness.go).
//
// # How it is counted
//
// As TLC counts, so that the two can be compared. Generated are the initial states
// and every step of every state, whatever it leads to. States and edges are the
// distinct ones: two steps from one state to another are one edge if they have the
// same label. The depth is the number of levels, the initial states being the first.
//
// # How it goes
//
// Level by level, and in a level batch by batch (level.go). The steps of a batch are
// computed in parallel. Then the new states among them are found, in parallel as
// well: the set of known states is split by hash, one part a worker (set.go). Last,
// the new states get their numbers, in the order in which one worker alone would have
// come across them. So nothing that comes out depends on the number of workers.
//
// The set keeps either whole keys, or only 128 bits of a hash of each: that needs a
// fraction of the memory, and overlooks a state with a probability below n*n/2^129.
//
// # Symmetry
//
// Where states differ only in names (which stream is called 1 and which 2), one of
// each class is enough. Options.Symmetry gives the variants of a state; the least key
// of all stands for the class. The counts are then those of the classes.
package explore
