package record

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/tests/golden"
	"gaugeblock/tests/reference"
	"gaugeblock/tests/replay"
)

// python runs a script of testdata under the stub of PyTorch.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the recorder is Python, and there is no python3 here")
	}
	command := exec.Command(interpreter, append([]string{filepath.Join("testdata", script)}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPATH=.:testdata", "PYTHONDONTWRITEBYTECODE=1", "GB_RECORD=")
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	return string(said)
}

// needsGraph reports whether a recording depends on the nodes of a captured graph,
// which the recorder does not see: with this setting blocks are reused by them.
func needsGraph(t *testing.T, file string) bool {
	t.Helper()
	r, err := spec.OpenTrace(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return strings.Contains(r.Header().Settings, "graph_capture_record_stream_reuse:True")
}

// TestRecordedProgramsReplay plays what PyTorch is known to have done to the recorder,
// and replays what it makes of that. All events, addresses, and the figures and layout
// at the end must come out again.
func TestRecordedProgramsReplay(t *testing.T) {
	files, err := golden.Own()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	args := []string{out}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !needsGraph(t, files[name]) {
			args = append(args, files[name])
		}
	}
	python(t, "perform.py", args...)

	var tally replay.Tally
	for _, file := range args[1:] {
		result, err := replay.File(filepath.Join(out, filepath.Base(file)), replay.Options{New: reference.New})
		if err != nil {
			t.Error(err)
			continue
		}
		tally.Add(&result)
		if !result.Exact {
			t.Error(&result)
		}
	}
	if tally.Traces < 140 {
		t.Errorf("only %d traces: want most of the project's own", tally.Traces)
	}
	t.Log(tally)
}
