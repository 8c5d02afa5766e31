package alloc_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// name is an address in terms of the segments. The latest segment there counts: an
// address can come back.
func (c *conversation) name(p spec.Ptr) string {
	for i, s := range slices.Backward(c.segments) {
		if s.Contains(spec.Range{Ptr: p, Bytes: 1}) {
			if p == s.Ptr {
				return fmt.Sprintf("s%d", i+1)
			}
			return fmt.Sprintf("s%d+%s", i+1, bytes(uint64(p-s.Ptr)))
		}
	}
	return p.String()
}

// names lists addresses.
func (c *conversation) names(list []spec.Ptr) string {
	if len(list) == 0 {
		return "none"
	}
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = c.name(p)
	}
	return strings.Join(names, ", ")
}

func (c *conversation) streamName(s spec.Stream) string {
	return fmt.Sprintf("stream %d", slices.Index(c.streams, s))
}

// units, largest first.
var units = []struct {
	name string
	size uint64
}{{"GiB", spec.GiB}, {"MiB", spec.MiB}, {"KiB", spec.KiB}, {"B", 1}}

// parseBytes reads "5MiB", or sums like "20MiB+512B".
func parseBytes(text string) (sum uint64, err error) {
	for part := range strings.SplitSeq(text, "+") {
		known := false
		for _, u := range units {
			digits, ok := strings.CutSuffix(part, u.name)
			if !ok {
				continue
			}
			n, err := strconv.ParseUint(digits, 10, 64)
			if err != nil {
				return 0, err
			}
			sum += n * u.size
			known = true
			break
		}
		if !known {
			return 0, fmt.Errorf("%q is not a size", text)
		}
	}
	return sum, nil
}

// bytes is the inverse of parseBytes.
func bytes(n uint64) string {
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
