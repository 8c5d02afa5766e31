package tell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// cut removes the first entries of a history, as a ring does.
func cut(f *snapshot.File, entries int) *snapshot.File {
	shorter := *f
	shorter.DeviceTraces = [][]snapshot.TraceEntry{f.DeviceTraces[0][entries:]}
	return &shorter
}

// stateAfter is the state after the first entries of a complete history, found from its
// start: the sizes of segments and the requested sizes of active blocks, by address.
func stateAfter(trace []snapshot.TraceEntry) (segments, active map[spec.Ptr]uint64) {
	segments, active = map[spec.Ptr]uint64{}, map[spec.Ptr]uint64{}
	for _, e := range trace {
		switch e.Action {
		case spec.ActionSegmentAlloc:
			segments[e.Addr] = e.Size
		case spec.ActionSegmentFree:
			delete(segments, e.Addr)
		case spec.ActionAlloc:
			active[e.Addr] = e.Size
		case spec.ActionFreeCompleted:
			delete(active, e.Addr)
		}
	}
	return segments, active
}

// TestStateAtStart cuts histories at many places. Undoing entries from the end must give
// the state that the entries before the cut give.
func TestStateAtStart(t *testing.T) {
	for _, name := range []string{"gpt_oom7.default.nolimit", "gpt_oom7.default.limit", "two_streams.default.nolimit"} {
		f := snapshotOf(t, name)
		length := len(f.DeviceTraces[0])
		for at := 1; at < length; at += 1 + length/20 {
			h, err := play.FromSnapshot(cut(f, at), 0)
			if err != nil {
				t.Fatal(err)
			}
			segments, active := map[spec.Ptr]uint64{}, map[spec.Ptr]uint64{}
			for _, s := range h.InitialSegments {
				segments[s.Address] = s.TotalSize
				var sum [3]uint64 // allocated, active, requested
				for _, b := range s.Blocks {
					if b.State != spec.Inactive {
						active[b.Address] = b.RequestedSize
						sum[1] += b.Size
						sum[2] += b.RequestedSize
					}
					if b.State == spec.ActiveAllocated {
						sum[0] += b.Size
					}
				}
				if got := [3]uint64{s.AllocatedSize, s.ActiveSize, s.RequestedSize}; got != sum {
					t.Errorf("%s at %d: a segment has %d allocated, active and requested bytes, and its blocks have %d", name, at, got, sum)
				}
			}
			wantSegments, wantActive := stateAfter(f.DeviceTraces[0][:at])
			for _, e := range f.DeviceTraces[0][at:] { // a free that the ring has cut in two is over
				if e.Action != spec.ActionFreeCompleted {
					break
				}
				delete(wantActive, e.Addr)
			}
			if diff := cmp.Diff(wantSegments, segments); diff != "" {
				t.Errorf("%s at %d, segments: %s", name, at, diff)
			}
			if diff := cmp.Diff(wantActive, active); diff != "" {
				t.Errorf("%s at %d, active blocks: %s", name, at, diff)
			}
			if h.Unrecorded.InconsistentEntries != 0 {
				t.Errorf("%s at %d: %d inconsistent entries", name, at, h.Unrecorded.InconsistentEntries)
			}
		}
	}
}

// TestCutRunsComeOut: from a start that was found by undoing entries, the rest of the run
// is reproduced. So the sizes of blocks and the free blocks are right too.
func TestCutRunsComeOut(t *testing.T) {
	for _, name := range []string{"gpt_varlen.default.nolimit", "gpt_oom7.default.limit", "two_streams.default.nolimit"} {
		f := snapshotOf(t, name)
		length := len(f.DeviceTraces[0])
		for at := length / 11; at < length; at += length / 6 {
			h, err := play.FromSnapshot(cut(f, at), 0)
			if err != nil {
				t.Fatal(err)
			}
			if a := play.Verify(h); !a.Exact() {
				t.Errorf("%s at %d: %d of %d allocations have the recorded address: %+v", name, at, a.SameAddress, a.Allocations, a.Differences)
			}
		}
	}
}
