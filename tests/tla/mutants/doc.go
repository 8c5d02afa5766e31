// Package mutants makes the same mistake in the specification and in the model, and shows
// that an invariant finds it in both. The equality of the two graphs cannot: they stay equal.
//
// A file in testdata is one mistake: a sentence, the module, the constants, the property that
// fails, the number of states of the shortest counterexample, and pieces of files in tla/ and
// model/ before and after. The line "model" has the property and the number of states of the model,
// where they are others: two properties can fail in one step, and TLC does not look at steps that
// change nothing. With the line "alone: yes" no other of the properties that hold at all bounds finds
// it, anywhere in the model's graph. Without a line "fails" it is in the model alone: the specification
// has no counters and no errors. A mutant of TwoFaults is a mistake at a second driver call that fails
// in one operation: in PoolFaults, where one call fails, nothing may be found.
//
//	go test ./tests/tla/mutants -v -timeout 0 -args -tools tla2tools.jar [NAME...]
//
// runs TLC on the changed specification ("make tla-mutants"). The test of this package
// explores the changed model: all mistakes are in one build (go build -overlay), and an
// environment variable chooses the one that is made. Nothing is changed on disk.
//
// "make weakened" changes the properties in small ways (tests/mutants), and asks all changes beside the
// properties at each step of the model with each mistake, and without one: a change must miss a mistake
// somewhere, or fail somewhere of the right model.
//
//	mutant_test.go       a mistake as it is written down
//	modules_test.go      the configuration that it is checked with
//	properties_test.go   each property that is checked breaks by some mistake
//	switch_test.go       the sources of the model with all mistakes
//	apart_test.go        the changes of properties
//	main_test.go         TLC on the specification with a mistake
package mutants
