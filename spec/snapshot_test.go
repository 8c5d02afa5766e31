package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

func TestBlockStateNames(t *testing.T) {
	for state, name := range map[spec.BlockState]string{
		spec.Inactive:          "inactive",
		spec.ActiveAllocated:   "active_allocated",
		spec.ActivePendingFree: "active_pending_free",
	} {
		if got := state.String(); got != name {
			t.Errorf("state %d is written %q, want %q", state, got, name)
		}
		if got, ok := spec.ParseBlockState(name); !ok || got != state {
			t.Errorf("%q is read as %d (known: %v), want %d", name, got, ok, state)
		}
	}
	if got, ok := spec.ParseBlockState("active_awaiting_free"); !ok || got != spec.ActivePendingFree {
		t.Errorf("older PyTorch's name is read as %d (known: %v), want %d", got, ok, spec.ActivePendingFree)
	}
	for _, name := range []string{"", "active", "Inactive", "inactive "} {
		if got, ok := spec.ParseBlockState(name); ok {
			t.Errorf("%q is read as %q, want it unknown", name, got)
		}
	}
}

// TestSnapshotLayout: a trace's drawing of memory has all of a snapshot but what
// only the history has.
func TestSnapshotLayout(t *testing.T) {
	snapshot := spec.Snapshot{
		Segments: []spec.Segment{
			{
				Device: 1, Address: 0x1000, TotalSize: 4096, Stream: 7, Pool: spec.PoolID{Capture: 1, User: 2},
				PoolKind: spec.LargePool, Expandable: true, AllocatedSize: 512, ActiveSize: 1536, RequestedSize: 1100,
				Blocks: []spec.Block{
					{Address: 0x1000, Size: 512, RequestedSize: 100, State: spec.ActiveAllocated, Context: "here"},
					{Address: 0x1200, Size: 1024, RequestedSize: 1000, State: spec.ActivePendingFree},
					{Address: 0x1600, Size: 2560, RequestedSize: 3, State: spec.Inactive},
				},
				Context: "there",
			},
			{Address: 0x9000, TotalSize: 512},
		},
		Traces: [][]spec.HistoryEntry{{{Device: 1}}},
	}
	want := []spec.Segment{
		{
			Device: 1, Address: 0x1000, TotalSize: 4096, Stream: 7, Pool: spec.PoolID{Capture: 1, User: 2},
			PoolKind: spec.LargePool, Expandable: true, AllocatedSize: 512, ActiveSize: 1536, RequestedSize: 1100,
			Blocks: []spec.Block{
				{Address: 0x1000, Size: 512, RequestedSize: 100, State: spec.ActiveAllocated},
				{Address: 0x1200, Size: 1024, RequestedSize: 1000, State: spec.ActivePendingFree},
				{Address: 0x1600, Size: 2560, RequestedSize: 3, State: spec.Inactive},
			},
		},
		{Address: 0x9000, TotalSize: 512, Blocks: []spec.Block{}},
	}
	if diff := cmp.Diff(want, trace.Layout(&snapshot)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSnapshotLayoutEmpty: no memory is a layout without segments, which is not
// the same as an unknown layout.
func TestSnapshotLayoutEmpty(t *testing.T) {
	var snapshot spec.Snapshot
	if got := trace.Layout(&snapshot); got == nil || len(got) != 0 {
		t.Errorf("layout is %#v, want empty and not nil", got)
	}
}
