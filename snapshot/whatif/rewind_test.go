package whatif_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/whatif"
	"gaugeblock/spec"
)

// cut takes the first entries of a trace away, as a ring does.
func cut(f *snapshot.File, entries int) *snapshot.File {
	shorter := *f
	shorter.Traces = [][]snapshot.Entry{f.Traces[0][entries:]}
	return &shorter
}

// played is what is held after the first entries of a whole trace, found by going
// forwards: the segments' sizes by address, and what is out with its requested size.
func played(trace []snapshot.Entry) (segments map[spec.Ptr]uint64, out map[spec.Ptr]uint64) {
	segments, out = map[spec.Ptr]uint64{}, map[spec.Ptr]uint64{}
	for _, e := range trace {
		switch e.Action {
		case spec.ActionSegmentAlloc:
			segments[e.Addr] = e.Size
		case spec.ActionSegmentFree:
			delete(segments, e.Addr)
		case spec.ActionAlloc:
			out[e.Addr] = e.Size
		case spec.ActionFreeCompleted:
			delete(out, e.Addr)
		}
	}
	return segments, out
}

// TestRewind cuts histories at many places. Going back from the end must give what
// going forward from the beginning gives.
func TestRewind(t *testing.T) {
	for _, name := range []string{"gpt_oom7.default.nolimit", "gpt_oom7.default.limit", "two_streams.default.nolimit"} {
		f := snapshotOf(t, name)
		length := len(f.Traces[0])
		for at := 1; at < length; at += 1 + length/20 {
			h, err := whatif.Rebuild(cut(f, at), 0)
			if err != nil {
				t.Fatal(err)
			}
			segments, out := map[spec.Ptr]uint64{}, map[spec.Ptr]uint64{}
			for _, s := range h.Start {
				segments[s.Address] = s.TotalSize
				for _, b := range s.Blocks {
					if b.State != spec.Inactive {
						out[b.Address] = b.RequestedSize
					}
				}
			}
			wantSegments, wantOut := played(f.Traces[0][:at])
			if diff := cmp.Diff(wantSegments, segments); diff != "" {
				t.Errorf("%s at %d, segments: %s", name, at, diff)
			}
			if diff := cmp.Diff(wantOut, out); diff != "" {
				t.Errorf("%s at %d, what is out: %s", name, at, diff)
			}
			if h.Unknown.Contradictions != 0 {
				t.Errorf("%s at %d: %d contradictions", name, at, h.Unknown.Contradictions)
			}
		}
	}
}

// TestCutRunsComeOut: from a start that was found by going back, the rest of the run
// comes out in the recorded places. So sizes and free blocks are right too.
func TestCutRunsComeOut(t *testing.T) {
	for _, name := range []string{"gpt_varlen.default.nolimit", "gpt_oom7.default.limit", "two_streams.default.nolimit"} {
		f := snapshotOf(t, name)
		length := len(f.Traces[0])
		for at := length / 11; at < length; at += length / 6 {
			h, err := whatif.Rebuild(cut(f, at), 0)
			if err != nil {
				t.Fatal(err)
			}
			if a := whatif.Verify(h); !a.Full() {
				t.Errorf("%s at %d: %d of %d allocations come out in the recorded place", name, at, a.Same, a.Placed)
			}
		}
	}
}
