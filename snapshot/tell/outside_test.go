package tell_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestOutside: two requests fail, and between them another process takes 300 MiB of the device of
// 1,000 MiB. 140 MiB is outside at first.
func TestOutside(t *testing.T) {
	entry := func(action spec.Action, addr, bytes uint64) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: spec.Ptr(addr), Size: bytes}, Context: &snapshot.Context{}}
	}
	const at, MiB = 0x7f0000000000, spec.MiB
	f := &snapshot.File{
		Version: snapshot.Version{Least: 10, Most: 11},
		DeviceTraces: [][]snapshot.TraceEntry{{
			entry(spec.ActionSegmentAlloc, at, 60*MiB), entry(spec.ActionAlloc, at, 60*MiB),
			entry(spec.ActionOOM, 800*MiB, 900*MiB), entry(spec.ActionOOM, 500*MiB, 700*MiB),
		}},
		Segments: []spec.Segment{{Address: at, TotalSize: 60 * MiB, AllocatedSize: 60 * MiB, ActiveSize: 60 * MiB, RequestedSize: 60 * MiB, PoolKind: spec.LargePool,
			Blocks: []spec.Block{{Address: at, Size: 60 * MiB, RequestedSize: 60 * MiB, State: spec.ActiveAllocated}}}},
	}
	for _, test := range []struct {
		capacity uint64
		says     string
		bytes    any
	}{
		{0, "--capacity, which PyTorch's message tells, says how much. From the failure of request 2 to that one, what is outside grew by 300.00 MiB.", nil},
		{1000 * MiB, "the device had 500.00 MiB free and this process's allocator held 60.00 MiB, 560.00 MiB together. Of the 1000.00 MiB that the device has, 440.00 MiB is outside", float64(440 * MiB)},
		{500 * MiB, "That is more than a capacity of 500.00 MiB", nil},
	} {
		w, err := play.FromSnapshot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.DeviceMemory = test.capacity
		c, err := compare.Compare(w, compare.Options{AsRecorded: true, Present: true})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(told(c))
		if err != nil {
			t.Fatal(err)
		}
		var object struct{ Outside map[string]any }
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(told(c).Verdict(), test.says) || object.Outside["bytes"] != test.bytes || object.Outside["grown"] != float64(300*MiB) || object.Outside["device_free"] != float64(500*MiB) {
			t.Errorf("capacity %d: %v, %s", test.capacity, object.Outside, told(c).Verdict())
		}
	}
}
