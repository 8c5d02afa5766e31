package alloc_test

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/internal/sizes"
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
			return fmt.Sprintf("s%d+%s", i+1, sizes.Format(uint64(p-s.Ptr)))
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
