package invariant

import (
	"errors"
	"testing"

	"gaugeblock/spec"
)

// TestExplanationFails: an error of the Inspector while lists are explained is returned.
func TestExplanationFails(t *testing.T) {
	cause := errors.New("cause")
	if err := explainLists(fails{cause}, 0, &violationReport{}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

// TestSecondLookFails: an error of the Inspector is the checker's also when it looks again to find
// out by which blocks lists or events differ. There is no verdict then.
func TestSecondLookFails(t *testing.T) {
	cause := errors.New("cause")
	block := spec.BlockView{
		Address: 2 << 20, Size: 2 << 20, First: true, Last: true, Mapped: true,
	}
	waits := block
	waits.EventCount, waits.RequestedSize = 1, 1
	for name, b := range map[string]spec.BlockView{"a free block": block, "events": waits} {
		in := &failsLater{err: cause, block: b}
		if violations, err := CheckInspector(0, in, spec.DefaultGeometry(), nil); !errors.Is(err, cause) || violations != nil || in.asked != 2 {
			t.Errorf("%s: %v, %v, asked %d times", name, violations, err, in.asked)
		}
	}
}
