// Package property searches the reference allocator for faults with the programs
// that tests/conformance makes up: one test for each area, one that lets driver
// calls fail, and tests that show that the search itself can find something, that it
// shortens what it finds, and that a pool which is set back is as it was.
//
// A failure names a seed and a file with the shortest program that still fails. The
// file goes to the directory that GAUGEBLOCK_COUNTEREXAMPLES names, or else to one
// that the test removes, in which case the message has the operations.
//
//	GAUGEBLOCK_SEED        first seed of every search; 1 by default
//	GAUGEBLOCK_OPERATIONS  operations to be checked in all areas together
package property
