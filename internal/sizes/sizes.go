// Package sizes reads and writes numbers of bytes the way the transcripts of this
// project do: exactly, in whole units, "20MiB+512B".
package sizes

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// units, largest first.
var units = []struct {
	name string
	size uint64
}{{"GiB", spec.GiB}, {"MiB", spec.MiB}, {"KiB", spec.KiB}, {"B", 1}}

// Parse reads "5MiB", or sums like "20MiB+512B".
func Parse(text string) (uint64, error) {
	sum := uint64(0)
	for part := range strings.SplitSeq(text, "+") {
		n, err := parsePart(part)
		if err != nil {
			return 0, fmt.Errorf("%q is not a size", text)
		}
		sum += n
	}
	return sum, nil
}

func parsePart(text string) (uint64, error) {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(text, u.name); ok {
			n, err := strconv.ParseUint(digits, 10, 32)
			return n * u.size, err
		}
	}
	return 0, strconv.ErrSyntax
}

// Format is the inverse of Parse.
func Format(n uint64) string {
	if n == 0 {
		return "0B"
	}
	var parts []string
	for _, u := range units {
		if n >= u.size {
			parts = append(parts, fmt.Sprintf("%d%s", n/u.size, u.name))
			n %= u.size
		}
	}
	return strings.Join(parts, "+")
}
