package snapshot_test

import (
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// TestSegmentPoolKind: the segments of small pools have 2 MiB, all others are larger.
func TestSegmentPoolKind(t *testing.T) {
	for size, want := range map[uint64]spec.PoolKind{2 * spec.MiB: spec.SmallPool, 20 * spec.MiB: spec.LargePool} {
		e := snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Size: size}}
		if kind := e.SegmentPoolKind(); kind != want {
			t.Errorf("%d bytes: %v", size, kind)
		}
	}
}
