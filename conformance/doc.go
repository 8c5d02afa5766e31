// Package conformance searches for faults of an allocator: it makes up programs,
// runs them through the allocator on the fake device, and looks after every
// operation whether everything that must be true still is. It knows the contract
// (spec), the device (fakegpu) and how operations are performed (perform), and
// no allocator: what is to be searched comes in as a perform.Factory.
//
// # How the pieces meet
//
//	choices.go       where chance comes from: a seed, or rapid
//	area.go          what kind of program: which operations, how often, which settings
//	sizes.go         sizes near the boundaries at which allocators decide
//	program.go       what a program has (program_streams.go)
//	kinds.go         what a kind of operation is to a program, and to a trial (kinds_*.go)
//	generator.go     one operation after the other, at random
//
//	trial.go         one program run through one allocator, checked at every step
//	answer.go        whether the answer to an operation was right
//	probe.go         calls about memory that is not allocated, which must be refused and change nothing
//	careful.go       what a program has to do so that every hazard is the allocator's
//	lifetimes.go     what the device has to know in order to find hazards
//	drained_streams.go  what has come to its end because somebody waited for it
//	winddown.go      the end: everything freed, nothing left on the device
//	visible_state.go what is looked at between two operations
//	label.go         what has been reached, as far as it shows there (label_table.go)
//
//	run.go           a program made up, or one that is known, from beginning to end
//	fault.go         the same program with each driver call failing in turn
//	fault_pairs.go   the same program with two driver calls of an operation failing
//	campaign.go      many programs, until enough was done and everything was reached
//	minimise.go      the shortest program that still fails
//
//	kit.go           all of it at the service of one allocator (kit_*.go): Run, Examine
//	option.go        what can be left out or added
//	level.go         how much is asked: safe, caching, exact
//	level_rules.go   which rule belongs to which level, and where to read about it
//	level_caching.go whether memory is used again (level_meter.go)
//	level_exact.go   whether decisions are those of another allocator
//	report.go        what came of it
//
// Every program is a sequence of trace.Op, so every failure is a trace: it can be
// written to a file, and "gaugeblock replay" performs it.
package conformance
