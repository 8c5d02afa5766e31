package trace

import (
	"testing"

	"gaugeblock/spec"
)

// TestLayoutHasNoContexts: a layout is what a trace records of a snapshot, which has no contexts.
func TestLayoutHasNoContexts(t *testing.T) {
	s := &spec.Snapshot{Segments: []spec.Segment{{Context: 1, Blocks: []spec.Block{{Size: 512, Context: 2}}}}}
	got := Layout(s)
	if got[0].Context != nil || got[0].Blocks[0].Context != nil || got[0].Blocks[0].Size != 512 {
		t.Errorf("%+v", got)
	}
	if s.Segments[0].Blocks[0].Context != 2 {
		t.Error("the snapshot has changed")
	}
}
