package record

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// python runs a script of testdata with the recorder, under the stub of PyTorch. All
// are copied, which also tells the go command that the test depends on them.
func python(t *testing.T, script string, args ...string) string {
	t.Helper()
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("the recorder is Python, and there is no python3 here")
	}
	dir := t.TempDir()
	for _, part := range []string{script, "torch"} {
		if err := copyTree(filepath.Join("testdata", part), filepath.Join(dir, part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte(Recorder), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(interpreter, append([]string{filepath.Join(dir, script)}, args...)...)
	command.Env = append(os.Environ(), "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=1", "GB_RECORD=")
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, said)
	}
	return string(said)
}

// copyTree copies a file, or a directory with all in it.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + path[len(from):]
		if entry.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}

// needsGraph reports whether a recording depends on the nodes of a captured graph,
// which the recorder does not see: with this setting blocks are reused by them.
func needsGraph(t *testing.T, file string) bool {
	t.Helper()
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return strings.Contains(r.Header().Settings, "graph_capture_record_stream_reuse:True")
}

// TestRecordedProgramsReplay repeats recordings of PyTorch under the recorder, and replays
// its traces. All entries and addresses, and the statistics and layout at the end, must be
// the same.
func TestRecordedProgramsReplay(t *testing.T) {
	files, err := checkout.OwnTraces()
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

// TestBehaviour: testdata/behave.py has the cases, testdata/behaviour the messages of the
// recorder and its traces.
func TestBehaviour(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "behaviour"), func(t *testing.T, d *datadriven.TestData) string {
		return python(t, "behave.py", t.TempDir(), d.Cmd)
	})
}

// TestRecordingsOfPyTorch replays traces that the recorder wrote of PyTorch 2.11 on an
// H200: torch.compile with CUDA graphs, two streams, a device that was full, and random
// programs with all calls that the recorder knows.
func TestRecordingsOfPyTorch(t *testing.T) {
	files, err := replay.FindTraces([]string{filepath.Join("testdata", "recorded")})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[trace.OpKind]int{}
	for _, file := range files {
		result, err := replay.File(file, replay.Options{New: reference.New})
		switch {
		case err != nil:
			t.Error(err)
		case !result.Exact:
			t.Error(&result)
		}
		countKinds(t, file, seen)
	}
	for _, kind := range []trace.OpKind{
		trace.OpRecordStream, trace.OpEmptyCache, trace.OpSetMemoryFraction, trace.OpConfigure, trace.OpResetPeak,
		trace.OpPoolCreate, trace.OpPoolBegin, trace.OpPoolEnd, trace.OpPoolRelease, trace.OpPoolDelete,
		trace.OpCheckpoint, trace.OpRestore, trace.OpCaptureBegin, trace.OpCaptureEnd, trace.OpRecordEvent, trace.OpWaitEvent,
		trace.OpBusy, trace.OpDrain, trace.OpDeviceFree,
	} {
		if seen[kind] == 0 {
			t.Errorf("no recording has a %s", kind)
		}
	}
}

// countKinds counts the operations of a trace by kind.
func countKinds(t *testing.T, file string, seen map[trace.OpKind]int) {
	t.Helper()
	_, ops, _, err := trace.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		seen[op.Kind]++
	}
}
