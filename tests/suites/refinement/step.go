package refinement

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/bounded"
)

// Successor is the state that a label leads to in the model; nil if there is none.
func Successor(m bounded.Module, from *bounded.State, label string) (next *bounded.State) {
	m.Next(from, func(l int, s *bounded.State) {
		if m.Labels()[l] == label {
			next = s
		}
	})
	return next
}

// Follow does what a label says, and compares the state that the allocator is in then
// with the one that it should be in.
func (w *System) Follow(m bounded.Module, from *bounded.State, label string, next *bounded.State) error {
	if next == nil {
		return fmt.Errorf("the model has no step %s from\n%s", label, m.Text(nil, from))
	}
	if err := w.Do(label); err != nil {
		return fmt.Errorf("%s fails: %w\nin\n%s", label, err, m.Text(nil, from))
	}
	got, err := w.Refine()
	if err != nil {
		return err
	}
	if !bytes.Equal(m.Key(nil, next), m.Key(nil, got)) {
		return fmt.Errorf("%s from\n%s\nthe allocator (+) is not where the model is (-):\n%s",
			label, m.Text(nil, from), cmp.Diff(pieces(m.Text(nil, next)), pieces(m.Text(nil, got))))
	}
	return nil
}

// pieces is a state's text with a line for each thing in it, for people to compare.
func pieces(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), "],[", "],\n["), "\n")
}
