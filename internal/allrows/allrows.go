// Package allrows says how many rows of their long tables tests take: some of them, so that "go test ./..."
// takes four minutes on two processors, or all, as continuous integration does (make test-all).
package allrows

import "os"

// Asked reports whether all rows are asked for: GAUGEBLOCK_TESTS=all.
func Asked() bool { return os.Getenv("GAUGEBLOCK_TESTS") == "all" }

// Without reports whether row i of a table is left out: without being asked, all but each n-th are.
func Without(i, n int) bool { return !Asked() && i%n != 0 }
