package refinement

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/bounded"
)

// Follow does the step of a label, and compares the state of the allocator with the next
// state of the model.
func (sys *System) Follow(m bounded.Module, from *bounded.State, label string, next *bounded.State) error {
	if next == nil {
		return fmt.Errorf("the model has no step %s from\n%s", label, m.Text(nil, from))
	}
	if err := sys.Do(label); err != nil {
		return fmt.Errorf("%s fails: %sys\nin\n%s", label, err, m.Text(nil, from))
	}
	got, err := sys.Refine()
	if err != nil {
		return err
	}
	if !bytes.Equal(m.Key(nil, next), m.Key(nil, got)) {
		return fmt.Errorf("%s from\n%s\nthe allocator's state (+) is not the model's (-):\n%s",
			label, m.Text(nil, from), cmp.Diff(lines(m.Text(nil, next)), lines(m.Text(nil, got))))
	}
	return nil
}

// lines is a state's text with a line for each element, for the difference of two.
func lines(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), "],[", "],\n["), "\n")
}
