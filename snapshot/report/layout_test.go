package report

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// TestLayoutMerges: small blocks are merged if there are more blocks than are shown.
func TestLayoutMerges(t *testing.T) {
	segments := []spec.Segment{{TotalSize: 2 * spec.MiB, Blocks: []spec.Block{{Size: spec.MiB}, {Size: spec.MiB}}}}
	for limit, want := range map[int]bool{1: true, 2: false, 3: false} {
		b := &builder{data: &Data{}, file: &snapshot.File{}, limits: limits{segments: 10, blocks: limit, mergeShare: 100}}
		state := newAllocatorState(nil, history.DefaultSettings(), nil)
		if m := b.layout("end", "", -1, segments, state); m.Merged != want {
			t.Errorf("%d blocks are shown, and small ones are merged: %v", limit, m.Merged)
		}
	}
}
