package report

import (
	"testing"

	"gaugeblock/snapshot/play"
)

// TestStates: the states at all entries have the bytes that are reserved and allocated there. If
// fewer are kept they begin later.
func TestStates(t *testing.T) {
	for _, most := range []int{1 << 30, 300} {
		f := open(t, "../tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		state := newAllocatorState(w.InitialSegments, w.Settings, nil)
		recorder := recordStates(state, len(w.Trace), most)
		var bytes [][2]uint64 // allocated and reserved, after each entry
		for i := range w.Trace {
			recorder.now = int64(i)
			state.add(i, &w.Trace[i])
			bytes = append(bytes, [2]uint64{state.allocatedBytes, state.reservedBytes})
		}
		b := &builder{data: &Data{Stacks: newStacks(1)}, limits: limits{states: most}}
		s := b.states(recorder)
		if late := s.First > 0; late != (most == 300) || len(s.Blocks)+len(s.Ranges) > most {
			t.Errorf("at most %d are kept: the first is %d, %d blocks, %d ranges", most, s.First, len(s.Blocks), len(s.Ranges))
		}
		for i := s.First; i < len(bytes); i += 97 {
			var allocated, reserved uint64
			for _, r := range s.Ranges {
				if r[stateBegin] <= int64(i) && int64(i) < r[stateEnd] {
					reserved += uint64(r[stateBytes])
				}
			}
			for _, r := range s.Blocks {
				if r[stateBegin] <= int64(i) && int64(i) < min(r[stateEnd], r[stateFreed]) {
					allocated += uint64(r[stateBytes])
				}
			}
			if now := [2]uint64{allocated, reserved}; now != bytes[i] {
				t.Fatalf("after entry %d %d bytes are allocated and reserved, not %d", i, now, bytes[i])
			}
		}
	}
}
