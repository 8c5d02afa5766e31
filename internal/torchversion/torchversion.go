// Package torchversion orders the versions of PyTorch.
package torchversion

import (
	"fmt"
	"slices"
)

// Compare orders releases and versions of PyTorch by up to three numbers, the oldest first: 2.9 is before 2.10. What
// follows the numbers, as in 2.11+rocm, does not count.
func Compare(a, b string) int {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:])
}
