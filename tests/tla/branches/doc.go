// Package branches measures which branches of the model the configurations of tla/ reach.
//
// A branch is an outcome of a condition: true or false. An operand of && or || is a
// condition too, so that the antecedents of the properties in model/bounded count as well:
// "isInactive(b) || !b.Unmapped" is "if a block is active, it is mapped", and it says something
// only where "isInactive(b)" is false. Further branches are the beginning of a function, of a
// case, and of the body of a loop over a range.
//
// The sources of model/ and model/bounded/ are rewritten so that each branch is recorded
// when it is taken (instrument.go), and a small command (explore/) is built from them with
// "go build -overlay", which explores configurations and prints what it has taken.
//
// unreached.txt lists the branches that no configuration takes, each with the reason, and
// those that only large configurations take. A branch that is neither taken nor listed fails
// TestBranches, and so does one that is listed and taken.
package branches
