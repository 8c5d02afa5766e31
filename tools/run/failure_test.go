package run

import (
	"path/filepath"
	"slices"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/history"
	"gaugeblock/spec"
)

// A failure in a backward pass is at the same line in the answer and in the snapshot, whose entry
// has no stack of its own. Without a snapshot there is a short history, if a request fails.
func TestTorchBackward(t *testing.T) {
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			command := func(mib string) []string {
				return []string{python, filepath.Join("testdata", "backward.py"), mib}
			}
			r := runs(t, Options{Command: command("100"), Memory: 2 << 30, Snapshot: true, NoValues: true}, 1)
			process, failed := r.Failed()
			if failed == nil || failed.At != filepath.Join("testdata", "backward.py")+":15" {
				t.Fatalf("%+v", r.Processes)
			}
			f, err := snapshot.OpenLimited(process.Snapshot, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(f.DeviceTraces[0], func(e snapshot.TraceEntry) bool { return e.Action == spec.ActionOOM })
			if at < 0 {
				t.Fatal("no request failed")
			}
			if frame, found := history.FrameOf(&f.DeviceTraces[0][at]); !found || frame.Line != 15 || frame.Name != "<module>" || filepath.Base(frame.Filename) != "backward.py" {
				t.Errorf("%+v", frame)
			}
			if r := runs(t, Options{Command: command("100"), Memory: 2 << 30, Decide: true, NoValues: true}, 1); r.Processes[0].Snapshot == "" {
				t.Error("no history of a failure")
			}
			if r := runs(t, Options{Command: command("1"), Memory: 2 << 30, Decide: true, NoValues: true}, 0); r.Processes[0].Snapshot != "" {
				t.Error("a history without a failure")
			}
		})
	}
}
