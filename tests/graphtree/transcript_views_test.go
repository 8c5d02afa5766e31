package graphtree

import (
	"fmt"
	"slices"
	"strings"

	"gaugeblock/graphtree"
	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// status is the state, and the counters that are not zero.
func (s *story) status() string {
	now := s.manager.Status()
	text := fmt.Sprintf("%v, path %v", now.State, now.Path)
	for _, counter := range []struct {
		name  string
		value int
	}{{"no child fitted", now.Fails}, {"set back", now.Checkpoints}, {"run outside", now.Outside}} {
		if counter.value > 0 {
			text += fmt.Sprintf(", %s: %d", counter.name, counter.value)
		}
	}
	return text
}

// look notes the segments of the pool that have come.
func (s *story) look() []spec.Segment {
	snapshot, err := s.allocator.SnapshotPool(pool)
	s.must(err)
	for _, g := range snapshot.Segments {
		if !slices.ContainsFunc(s.segments, func(o spec.Segment) bool { return o.Address == g.Address }) {
			s.segments = append(s.segments, g)
		}
	}
	return snapshot.Segments
}

// place is where a tensor lies.
func (s *story) place(t *graphtree.Tensor) string {
	s.look()
	r, err := t.Range()
	s.must(err)
	return s.name(r.Ptr)
}

func (s *story) name(p spec.Ptr) string {
	for i, g := range s.segments {
		if g.Address <= p && p < g.Address+spec.Ptr(g.TotalSize) {
			name := fmt.Sprintf("p%d", i+1)
			if p > g.Address {
				name += "+" + sizes.Format(uint64(p-g.Address))
			}
			return name
		}
	}
	return "its own place"
}

func (s *story) pool() string {
	var out strings.Builder
	for _, g := range s.look() {
		fmt.Fprintf(&out, "%s:", s.name(g.Address))
		for _, b := range g.Blocks {
			mark := map[spec.BlockState]string{spec.Inactive: "free", spec.ActiveAllocated: "used", spec.ActivePendingFree: "pending"}[b.State]
			fmt.Fprintf(&out, " [%s %s]", mark, sizes.Format(b.Size))
		}
		out.WriteString("\n")
	}
	return out.String()
}
