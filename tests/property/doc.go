// Package property tests the reference allocator with the random programs of
// conformance: one test for each area, and one in which driver calls fail. Other
// tests show that the search finds broken allocators and shortens their programs, and
// that a restore of a checkpoint restores the pool.
//
// A failure names a seed and a file with the shortest program that still fails. The
// file is written to the directory GAUGEBLOCK_COUNTEREXAMPLES. Without it the message has
// the operations.
//
//	GAUGEBLOCK_SEED        first seed of every search; 1 by default
//	GAUGEBLOCK_OPERATIONS  number of operations to check in all areas together
package property
