package snapshot_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

func open(t *testing.T, path string) *snapshot.File {
	t.Helper()
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFormsAreEqual reads one snapshot in all the forms in testdata: every protocol,
// Python's other pickler, compressed, JSON.
func TestFormsAreEqual(t *testing.T) {
	want := open(t, "testdata/small.4.pickle")
	files, err := filepath.Glob("testdata/small.*")
	if err != nil || len(files) != 7 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if diff := cmp.Diff(want, open(t, file)); diff != "" {
			t.Errorf("%s: %s", file, diff)
		}
	}
}

// TestSmall compares the snapshot in testdata with its values.
func TestSmall(t *testing.T) {
	f := open(t, "testdata/small.4.pickle")
	stack := f.DeviceTraces[0][0].Context.Frames
	got := map[string]any{
		"segments":           len(f.Segments),
		"devices":            []spec.Device{f.Segments[0].Device, f.Segments[6].Device},
		"pending":            f.Segments[4].Blocks[0],
		"traces":             []int{len(f.DeviceTraces[0]), len(f.DeviceTraces[1]), len(f.DeviceTraces[2])},
		"first":              f.DeviceTraces[0][0].TraceEntry,
		"time":               f.DeviceTraces[0][1].TimeUS,
		"frames":             len(stack),
		"innermost":          *stack[0],
		"oom":                f.DeviceTraces[2][6].TraceEntry,
		"of the oom":         *f.DeviceTraces[2][6].Context,
		"conf":               f.AllocatorSettings.Conf,
		"max split size":     f.AllocatorSettings.Config.MaxSplitSize,
		"large segment size": f.AllocatorSettings.Config.LargeSegmentSize,
		"annotation":         f.ExternalAnnotations[0],
	}
	want := map[string]any{
		"segments":           7,
		"devices":            []spec.Device{0, 2},
		"pending":            spec.Block{Address: 140455228473344, Size: 12795904, RequestedSize: 12795904, State: spec.ActivePendingFree},
		"traces":             []int{24, 0, 7}, // an action of a later version is ignored
		"first":              spec.TraceEntry{Action: spec.ActionSegmentAlloc, Addr: 1<<63 + 512, Size: 50331648},
		"time":               int64(1795816811022714),
		"frames":             8,
		"innermost":          snapshot.Frame{Filename: "site-packages/torch/nn/modules/module.py", Line: 1370, Name: "convert"},
		"oom":                spec.TraceEntry{Action: spec.ActionOOM, Addr: 7340032, Size: 5000192, Stream: 432097712},
		"of the oom":         snapshot.Context{CompileContext: "step 1", UserMetadata: "epoch 3"},
		"conf":               "max_split_size_mb:128,large_segment_size_mb:32",
		"max split size":     128 * spec.MiB,
		"large segment size": 32 * spec.MiB,
		"annotation": spec.Annotation{TimeNS: 1795816815279289000, Fields: []spec.AnnotationField{
			{Key: "stage", Value: "START"}, {Key: "name", Value: "Optimizer.step#AdamW.step"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStacksAreShared: the entries of one allocation share one context.
func TestStacksAreShared(t *testing.T) {
	trace := open(t, "testdata/small.4.pickle").DeviceTraces[0]
	if a, b := trace[0].Context, trace[1].Context; a != b {
		t.Errorf("two equal contexts are not shared: %+v, %+v", a, b)
	}
}

// TestOlderVersions: files without the keys that later versions of PyTorch added.
func TestOlderVersions(t *testing.T) {
	segment := func(more string) string {
		return `{"device":0,"address":4096,"total_size":2097152,"stream":0,"segment_type":"small","blocks":[
			{"size":512,"state":"active_awaiting_free"` + more + `},{"size":2096640,"state":"inactive"}]}`
	}
	want := []spec.Segment{{Address: 4096, TotalSize: 2 * spec.MiB, Blocks: []spec.Block{
		{Address: 4096, Size: 512, State: spec.ActivePendingFree},
		{Address: 4608, Size: 2096640, State: spec.Inactive}}}}
	for what, text := range map[string]string{
		"a list of segments":    "[" + segment("") + "]",
		"no trace":              `{"segments":[` + segment("") + "]}",
		"the history of blocks": `{"segments":[` + segment(`,"history":[{"addr":4096,"real_size":100,"frames":[]}]`) + `],"device_traces":[[]]}`,
		"values that are None":  `{"segments":[` + segment(`,"frames":null`) + `],"device_traces":null,"external_annotations":null}`,
	} {
		f := read(t, text)
		want[0].Blocks[0].RequestedSize = 0
		if what == "the history of blocks" {
			want[0].Blocks[0].RequestedSize = 100
		}
		if diff := cmp.Diff(want, f.Segments); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if f.AllocatorSettings != nil {
			t.Errorf("%s: settings that are not in the file", what)
		}
	}
}

// TestLaterVersion: an entry with its pool.
func TestLaterVersion(t *testing.T) {
	f := read(t, `{"segments":[],"device_traces":[[{"action":"alloc","addr":512,"size":1,"stream":0,"pool_id":[0,7]}]]}`)
	want := &snapshot.Context{Pool: spec.PoolID{User: 7}, PoolKnown: true}
	if diff := cmp.Diff(want, f.DeviceTraces[0][0].Context); diff != "" {
		t.Error(diff)
	}
}

// TestSnapshotsOfModels reads snapshots of real models: those that snapshot/whatif has,
// and those in the folder shared beside the project, where there is one.
func TestSnapshotsOfModels(t *testing.T) {
	files, err := filepath.Glob("tell/testdata/snapshots/*.pickle.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	beside, err := filepath.Glob("../../shared/snapshots/*.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, beside...)
	for _, file := range files {
		f := open(t, file)
		if len(f.Segments) == 0 || len(f.DeviceTraces) != 1 || len(f.DeviceTraces[0]) == 0 {
			t.Errorf("%s: %d segments, %d traces", file, len(f.Segments), len(f.DeviceTraces))
		}
	}
}

// TestNullFrames: an entry's frames may be there and null.
func TestNullFrames(t *testing.T) {
	f := read(t, `{"segments":[],"device_traces":[[{"action":"alloc","frames":null}]]}`)
	if len(f.DeviceTraces) != 1 || len(f.DeviceTraces[0]) != 1 {
		t.Errorf("%+v", f.DeviceTraces)
	}
}

// TestHost: pinned host memory has segments and a history of its own, of no device.
func TestHost(t *testing.T) {
	f := open(t, "testdata/pinned-2.15.pickle")
	actions := map[spec.Action]int{}
	for i := range f.HostTrace {
		actions[f.HostTrace[i].Action]++
	}
	want := map[spec.Action]int{spec.ActionSegmentAlloc: 5, spec.ActionAlloc: 6, spec.ActionFreeRequested: 2, spec.ActionFreeCompleted: 2}
	if diff := cmp.Diff(want, actions); diff != "" {
		t.Error(diff)
	}
	if len(f.HostSegments) != 5 || len(f.HostSegments[0].Blocks) != 1 || len(f.Segments) != 1 || len(f.DeviceTraces[0]) != 4 {
		t.Errorf("%d segments of the host, %d of devices, %d entries", len(f.HostSegments), len(f.Segments), len(f.DeviceTraces[0]))
	}
	if f.Version.Least != 14 {
		t.Errorf("%+v", f.Version)
	}
}
