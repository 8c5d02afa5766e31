package report

import (
	"encoding/json"
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestDevicesWithHistory: a device is shown if it has segments or a history.
func TestDevicesWithHistory(t *testing.T) {
	f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{{}, {{}}, {}, {{}}}, Segments: []spec.Segment{{Device: 5}}}
	if got, more := Devices(f, 0); !slices.Equal(got, []spec.Device{0, 1, 3, 5}) || more != 0 {
		t.Errorf("%v, and %d more", got, more)
	}
}

// stackOf is a call stack, by line, of which one is the program's own.
func stackOf(length, own int) (list snapshot.Frames) {
	for i := range length {
		list = append(list, &snapshot.Frame{Filename: "/lib/site-packages/torch/a.py", Line: i, Name: "f"})
	}
	list[own] = &snapshot.Frame{Filename: "train.py", Line: own, Name: "main"}
	return list
}

// upTo lists the numbers below n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// pageBytes are the bytes that stacks have on a page.
func pageBytes(t *testing.T, s *stacks) (bytes int) {
	t.Helper()
	for _, f := range s.Frames {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(text) + 1
	}
	for _, numbers := range s.Stacks {
		bytes += 6 * len(numbers)
	}
	return bytes
}

// TestOtherDeviceThanCompared: predictions may be those of one device and the report that of
// another.
func TestOtherDeviceThanCompared(t *testing.T) {
	entry := func(a spec.Action, at spec.Ptr) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, Context: &snapshot.Context{}}
	}
	const first, second, before = spec.Ptr(1 << 30), spec.Ptr(2 << 30), spec.Ptr(3 << 30)
	segment := func(device spec.Device, at spec.Ptr) spec.Segment {
		return spec.Segment{Device: device, Address: at, TotalSize: 2 * spec.MiB, PoolKind: spec.LargePool,
			Blocks: []spec.Block{{Address: at, Size: 2 * spec.MiB, RequestedSize: 2 * spec.MiB, State: spec.ActiveAllocated}}}
	}
	f := &snapshot.File{
		DeviceTraces: [][]snapshot.TraceEntry{{entry(spec.ActionSegmentAlloc, first), entry(spec.ActionAlloc, first)}, {entry(spec.ActionSegmentAlloc, second), entry(spec.ActionAlloc, second)}},
		Segments:     []spec.Segment{segment(0, first), segment(1, second), segment(1, before)},
	}
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(w, compare.Options{Settings: []string{""}})
	if err != nil {
		t.Fatal(err)
	}
	for device, want := range []uint64{2 * spec.MiB, 4 * spec.MiB} {
		d, err := Build(f, Options{Device: spec.Device(device), Comparison: comparison})
		if err != nil {
			t.Fatal(err)
		}
		if d.Summary.PeakAllocated != want || d.Summary.Complete != (device == 0) {
			t.Errorf("device %d: %+v", device, d.Summary)
		}
	}
}
