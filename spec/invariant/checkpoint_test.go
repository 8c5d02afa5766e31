package invariant_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// pooled is a pool in a snapshot: a plain segment and a range of an expandable one.
//
//	0x1000000  small, 2 MiB        512 allocated, rest free
//	0x4000000  expandable, 20 MiB  12 MiB allocated, 8 MiB free
func pooled(restored bool) spec.Snapshot {
	v := &views{}
	v.segment(spec.BlockView{Address: 0x1000000, Pool: mempool},
		givenBlock(512, 500), unusedBlock(2*oneMiB-512))
	v.segment(spec.BlockView{Address: 0x4000000, Pool: mempool, PoolKind: spec.LargePool, Expandable: true},
		givenBlock(12*oneMiB, 12*oneMiB-7), unusedBlock(8*oneMiB))
	if restored {
		// A restored block counts as a request for its size.
		v.blocks[0].RequestedSize, v.blocks[2].RequestedSize = 512, 12*oneMiB
	}
	return v.snapshot()
}

func TestCheckpointRestores(t *testing.T) {
	const name = "CheckpointRestoresWhatItSaved: "
	blockOf := func(s *spec.Snapshot, segment, i int) *spec.Block { return &s.Segments[segment].Blocks[i] }
	for _, c := range []struct {
		what   string
		change func(now *spec.Snapshot)
		want   []string
	}{
		{"as it was", func(*spec.Snapshot) {}, nil},
		{"the expandable segment has grown", func(now *spec.Snapshot) {
			now.Segments[1].TotalSize += 20 * oneMiB
			blockOf(now, 1, 1).Size += 20 * oneMiB
		}, nil},
		{"a segment came later", func(now *spec.Snapshot) {
			now.Segments = append(now.Segments, spec.Segment{
				Address: 0x8000000, TotalSize: 2 * oneMiB, Pool: mempool,
				Blocks: []spec.Block{{Address: 0x8000000, Size: 2 * oneMiB}},
			})
		}, nil},
		{"another pool changed", func(now *spec.Snapshot) {
			now.Segments = append(now.Segments, spec.Segment{
				Address: 0x8000000, TotalSize: 2 * oneMiB, Pool: graphPool, AllocatedSize: 2 * oneMiB, ActiveSize: 2 * oneMiB, RequestedSize: 2 * oneMiB,
				Blocks: []spec.Block{{Address: 0x8000000, Size: 2 * oneMiB, RequestedSize: 2 * oneMiB, State: spec.ActiveAllocated}},
			})
		}, nil},
		{"a segment is gone", func(now *spec.Snapshot) { now.Segments = now.Segments[1:] }, []string{
			"block 0x1000000 (512 bytes, active_allocated at the checkpoint) is not there after the restore",
			"block 0x1000200 (2096640 bytes, inactive at the checkpoint) is not there after the restore",
		}},
		{"the last segment is gone", func(now *spec.Snapshot) { now.Segments = now.Segments[:1] }, []string{
			"block 0x4000000 (12582912 bytes, active_allocated at the checkpoint) is not there after the restore",
			"block 0x4c00000 (8388608 bytes, inactive at the checkpoint) is not there after the restore",
		}},
		{"a block was not allocated again", func(now *spec.Snapshot) {
			blockOf(now, 0, 0).State = spec.Inactive
		}, []string{"block 0x1000000 (512 bytes) was active_allocated at the checkpoint and is inactive after the restore"}},
		{"a block was not freed", func(now *spec.Snapshot) {
			blockOf(now, 1, 1).State = spec.ActiveAllocated
		}, []string{"block 0x4c00000 (8388608 bytes) was inactive at the checkpoint and is active_allocated after the restore"}},
		{"a later block is still allocated", func(now *spec.Snapshot) {
			blockOf(now, 0, 1).Size = 512
			now.Segments[0].Blocks = append(now.Segments[0].Blocks, spec.Block{Address: 0x1000400, Size: 2*oneMiB - 1024, State: spec.ActiveAllocated})
		}, []string{
			"block 0x1000200 had 2096640 bytes at the checkpoint and has 512 after the restore",
			"block 0x1000400 (2096128 bytes) is allocated after the restore, but was no block at the checkpoint",
		}},
		{"a plain segment has grown", func(now *spec.Snapshot) {
			blockOf(now, 0, 1).Size += 512
		}, []string{"block 0x1000200 had 2096640 bytes at the checkpoint and has 2097152 after the restore"}},
		{"the expandable segment has shrunk", func(now *spec.Snapshot) {
			blockOf(now, 1, 1).Size -= 512
		}, []string{"block 0x4c00000 had 8388608 bytes at the checkpoint and has 8388096 after the restore"}},
		{"the old requested size", func(now *spec.Snapshot) {
			blockOf(now, 0, 0).RequestedSize = 500
		}, []string{"block 0x1000000 (512 bytes) counts as a request for 500 bytes after the restore, not for its size"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			h := invariant.NewHistory()
			saved, now := pooled(false), pooled(true)
			h.CheckpointTaken(0, mempool, 3, &saved)
			h.CheckpointRestored(3, nil, nil)
			c.change(&now)
			finding := judgeRestore(t, h, &now)
			var want []string
			for _, sentence := range c.want {
				want = append(want, name+sentence)
			}
			if diff := cmp.Diff(want, sentences(finding.Violations)); diff != "" {
				t.Error(diff)
			}
			if wantVerdict := verdictOf(want); finding.Verdict != wantVerdict {
				t.Errorf("%v instead of %v", finding.Verdict, wantVerdict)
			}
		})
	}
}

func verdictOf(violations []string) invariant.Verdict {
	if len(violations) > 0 {
		return invariant.Broken
	}
	return invariant.Holds
}

func judgeRestore(t *testing.T, h *invariant.History, now *spec.Snapshot) invariant.Finding {
	t.Helper()
	o := &invariant.Observation{Geometry: spec.DefaultGeometry(), Snapshot: now, History: h}
	finding, err := invariant.All()[15].Check(o)
	if err != nil {
		t.Fatal(err)
	}
	return finding
}

// A block that is allocated does not grow, though it is the last of its range.
func TestAllocatedBlocksDoNotGrow(t *testing.T) {
	saved, now := pooled(false), pooled(true)
	for _, s := range []*spec.Snapshot{&saved, &now} {
		b := &s.Segments[1].Blocks[1]
		b.State, b.RequestedSize = spec.ActiveAllocated, b.Size
	}
	h := invariant.NewHistory()
	h.CheckpointTaken(0, mempool, 3, &saved)
	h.CheckpointRestored(3, nil, nil)
	now.Segments[1].Blocks[1].Size += 512
	const want = "block 0x4c00000 had 8388608 bytes at the checkpoint and has 8389120 after the restore"
	if v := judgeRestore(t, h, &now).Violations; len(v) != 1 || v[0].Sentence != want {
		t.Error(v)
	}
}

// Only the moment behind the restore can be compared with the checkpoint.
func TestCheckpointIsComparedOnce(t *testing.T) {
	saved, now := pooled(false), pooled(true)
	restored := func() *invariant.History {
		h := invariant.NewHistory()
		h.CheckpointTaken(0, mempool, 3, &saved)
		h.CheckpointRestored(3, nil, nil)
		return h
	}
	for _, c := range []struct {
		what string
		then func(h *invariant.History)
		want invariant.Verdict
	}{
		{"nothing", func(*invariant.History) {}, invariant.Holds},
		{"a malloc", func(h *invariant.History) { h.Allocated(invariant.Allocation{Ptr: 0x9000000, Bytes: 1}) }, invariant.NotObservable},
		{"a free", func(h *invariant.History) { h.Freed(0) }, invariant.NotObservable},
		{"any operation of a trace", func(h *invariant.History) {
			if err := h.Apply(&trace.Op{Kind: trace.OpEmptyCache}, []spec.Stream{0}, invariant.Outcome{}); err != nil {
				t.Error(err)
			}
		}, invariant.NotObservable},
		{"a restore of an unknown state", func(h *invariant.History) { h.CheckpointRestored(4, nil, nil) }, invariant.NotObservable},
	} {
		h := restored()
		c.then(h)
		if got := judgeRestore(t, h, &now).Verdict; got != c.want {
			t.Errorf("after %s: %v instead of %v", c.what, got, c.want)
		}
	}
}

// A restore frees what came later and brings back what was freed meanwhile.
func TestRestoreChangesWhatIsOut(t *testing.T) {
	h := invariant.NewHistory()
	give := func(p spec.Ptr) invariant.Allocation {
		g := invariant.Allocation{Ptr: p, Bytes: 512}
		h.Allocated(g)
		return g
	}
	a, b := give(0x1000), give(0x2000)
	saved := spec.Snapshot{}
	h.CheckpointTaken(0, mempool, 0, &saved)
	h.Freed(0x1000)
	give(0x3000)
	h.CheckpointRestored(0, []spec.Ptr{0x3000}, []invariant.Allocation{a, b})

	now := spec.Snapshot{Segments: []spec.Segment{{Blocks: []spec.Block{
		{Address: 0x1000, Size: 512, State: spec.ActiveAllocated},
		{Address: 0x2000, Size: 512, State: spec.ActiveAllocated},
		{Address: 0x3000, Size: 512},
	}}}}
	o := &invariant.Observation{Geometry: spec.DefaultGeometry(), Snapshot: &now, History: h}
	finding, err := invariant.All()[12].Check(o)
	if err != nil || finding.Verdict != invariant.Holds {
		t.Errorf("%v, %v", finding, err)
	}
}
