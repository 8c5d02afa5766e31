package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
	runner "gaugeblock/tools/run"
)

// reserving is a program that writes the answer of a process which has reserved PEAK bytes, or
// more if work takes time, as PyTorch would: no library of the fake GPU is needed.
func reserving(t *testing.T, peak string) (program string) {
	t.Helper()
	libraries := t.TempDir()
	put := func(path, text string, mode os.FileMode) {
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(cuda.Thin(), "libcuda.so.1", "libcudart.so.12", "libcudart.so.13", "libnvidia-ml.so.1", cuda.MachineName) {
		put(filepath.Join(libraries, name), "", 0o644)
	}
	t.Setenv(runner.LibrariesVariable, libraries)
	t.Setenv("PEAK", peak)
	program = filepath.Join(libraries, "program")
	put(program, `#!/bin/sh
[ "$GAUGEBLOCK_CUDA_SCHEDULE" = time ] && case $GAUGEBLOCK_CUDA_SLOWER$GAUGEBLOCK_CUDA_HOST_SLOWER in 11) PEAK=$((2 * $PEAK));; 10.65 | 10001) PEAK=$((3 * $PEAK));; esac
echo '{"pid": 1, "devices": [{"peak_reserved": '$PEAK', "peak_allocated": '$PEAK'}]}' > "$GAUGEBLOCK_RUN_FOLDER/1.json"
`, 0o755)
	return program
}

// runsProgram runs a program that has reserved so many bytes.
func runsProgram(t *testing.T, peak string, arguments ...string) (int, string) {
	t.Helper()
	program := reserving(t, peak)
	var stderr bytes.Buffer
	status := run(append(append([]string{"run"}, arguments...), "--", program), strings.NewReader(""), &bytes.Buffer{}, &stderr)
	return status, stderr.String()
}

// On a terminal the first and the third line are bold, and the prefix is not.
func TestRunOnTerminal(t *testing.T) {
	x := onTerminal(t, 120, nil, "run", "--", reserving(t, "1000000000"))
	if status := x.end(t); status != 0 {
		t.Fatalf("status %d: %q", status, x.text())
	}
	for _, want := range []string{"gaugeblock: \x1b[1mpeak reserved 953.67 MiB", "gaugeblock: it did not run out", "gaugeblock: \x1b[1mthe smallest GPU"} {
		if !strings.Contains(x.text(), want) {
			t.Errorf("%q has not %q", x.text(), want)
		}
	}
}

// A run is compared with the result of an earlier one, and fails if it needs too much more.
func TestRunCompared(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.json")
	if status, said := runsProgram(t, "1000000000", "--json", old); status != 0 {
		t.Fatal(status, said)
	}
	for _, c := range []struct {
		peak, most string
		status     int
		says       string
	}{
		{"1050000000", "5", 0, "(+5.0 %)"},
		{"1050000001", "5", 1, "the peak has grown by more than --max-growth=5 %"},
		{"900000000", "0", 0, "(-10.0 %)"},
	} {
		status, said := runsProgram(t, c.peak, "--compare", old, "--max-growth", c.most)
		if status != c.status || !strings.Contains(said, c.says) || !strings.Contains(said, "the older result has no call sites (--sites)") {
			t.Errorf("%s: %d\n%s", c.peak, status, said)
		}
	}
}

// Lines of files that are no files of text are not known, and nobody waits for them.
func TestSourceFiles(t *testing.T) {
	files := sourceFiles{}
	for at, want := range map[string]string{"run_test.go:1": "package main", "run_test.go:0": "", "run_test.go:99999999": "", "run_test.go": "", "<string>:1": "", "/dev/zero:1": "", ".:1": ""} {
		if got := files.line(at); got != want {
			t.Errorf("%s: %q", at, got)
		}
	}
}

// A file that is no result is refused before the program is run.
func TestRunComparedWithNothing(t *testing.T) {
	for text, says := range map[string]string{"{": "unexpected end", "{}": "it has no peak"} {
		old := filepath.Join(t.TempDir(), "old.json")
		if err := os.WriteFile(old, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, said := runsProgram(t, "1", "--compare", old); status != 2 || !strings.Contains(said, says) || strings.Contains(said, "peak reserved") {
			t.Errorf("%q: %d\n%s", text, status, said)
		}
	}
	if status, said := runsProgram(t, "1", "--max-growth", "5"); status != 2 || !strings.Contains(said, "--max-growth needs --compare") {
		t.Errorf("%d\n%s", status, said)
	}
}

// A file that cannot be written is refused before the program is run, and what is written is not half
// there.
func TestRunOutputs(t *testing.T) {
	folder := t.TempDir()
	none := filepath.Join(folder, "none", "file")
	for _, flag := range []string{"--json", "--snapshot", "--report"} {
		if status, said := runsProgram(t, "1", flag, none); status != 2 || !strings.Contains(said, "none/file cannot be written") || strings.Contains(said, "peak reserved") {
			t.Errorf("%s: %d\n%s", flag, status, said)
		}
	}
	if status, said := runsProgram(t, "1", "--json", filepath.Join(folder, "result")); status != 0 {
		t.Error(status, said)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Error(files, err)
	}
	var stderr bytes.Buffer
	if status := run([]string{"fit", "--var", "A=1..2", "--json", none, "--", reserving(t, "1")}, strings.NewReader(""), &bytes.Buffer{}, &stderr); status != 2 || strings.Contains(stderr.String(), "h200, 1") {
		t.Error(status, stderr.String())
	}
	stderr.Reset()
	if status := run([]string{"compare", filepath.Join("..", "..", "snapshot", "testdata", "small.4.pickle"), "pytorch", "--report", none}, strings.NewReader(""), &bytes.Buffer{}, &stderr); status != 2 || !strings.Contains(stderr.String(), "none/file cannot be written") {
		t.Error(status, stderr.String())
	}
}

// With --range the program is run again by several schedules, and the result has their peaks.
func TestRunRange(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	status, said := runsProgram(t, "1073741824", "--range", "--json", file)
	if status != 0 || !strings.Contains(said, "reserved from 1024.00 MiB to 3.00 GiB in 3 runs, probably 2.00 GiB") {
		t.Errorf("%d\n%s", status, said)
	}
	var record runner.Record
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &record) != nil || record.Range == nil || record.Range.Most != 3<<30 || record.Range.Likely != 2<<30 {
		t.Errorf("%+v, %v", record, err)
	}
}

// With a snapshot of the worst process its lines are told, and written are the snapshot, its page, which says which
// command was run, and the result, which names the snapshot that was asked for. A program without one has none of these.
func TestRunWithSnapshot(t *testing.T) {
	program, folder := reserving(t, "83886080"), t.TempDir()
	recorded, err := filepath.Abs(filepath.Join("..", "..", "snapshot", "report", "testdata", "rich.json"))
	if err != nil {
		t.Fatal(err)
	}
	with := filepath.Join(folder, "program")
	if err := os.WriteFile(with, []byte(`#!/bin/sh
cp `+recorded+` "$GAUGEBLOCK_RUN_FOLDER/1.pickle"
echo '{"pid": 1, "ooms": [{"asked": 134217728, "limit": 1073741824, "free": 1048576, "at": "data.py:5", "reserved": 41943040, "allocated": 26215936}],
"devices": [{"peak_reserved": 83886080, "peak_allocated": 70870528, "ooms": 1}], "snapshot": "'"$GAUGEBLOCK_RUN_FOLDER"'/1.pickle"}' > "$GAUGEBLOCK_RUN_FOLDER/1.json"
exit 3
`), 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	runs := func(program string, arguments ...string) (int, string) {
		var stderr bytes.Buffer
		status := run(append(append([]string{"run"}, arguments...), "--", program), strings.NewReader(""), &bytes.Buffer{}, &stderr)
		return status, stderr.String()
	}
	status, said := runs(with, "--json", at("result.json"), "--snapshot", at("memory.pickle"), "--report", at("page.html"), "--sites")
	for _, want := range []string{"gaugeblock: it went on after a failed request at data.py:5", at("page.html") + "\n"} {
		if status != 3 || !strings.Contains(said, want) {
			t.Errorf("status %d, no %q: %s", status, want, said)
		}
	}
	var record runner.Record
	if text, err := os.ReadFile(at("result.json")); err != nil || json.Unmarshal(text, &record) != nil || record.Processes[0].Snapshot != at("memory.pickle") || record.Settings == nil {
		t.Fatalf("%+v, %v", record, err)
	}
	var sites strings.Builder
	for _, s := range record.Sites {
		fmt.Fprintf(&sites, "%s %d\n", s.At, s.Bytes)
	}
	if want := "without a call stack 47800832\ntrain.py:66 10485760\nmodel.py:12 8388608\nmodel.py:31 4194304\ndata.py:5 1024\nmodel.py:32 0\n"; sites.String() != want {
		t.Errorf("the sites are\n%s", &sites)
	}
	inside := filepath.Join(folder, "inside") // of the run's folder, where what the command runs inside of the program is
	script, err := os.ReadFile(with)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(script), "cp "+recorded, `sed "s|\"data.py\"|\"$GAUGEBLOCK_RUN_FOLDER/site/data.py\"|" `+recorded+" >", 1)
	if err := os.WriteFile(inside, []byte(moved), 0o755); err != nil {
		t.Fatal(err)
	}
	if status, said := runs(inside, "--compare", at("result.json")); status != 3 || strings.Contains(said, "more than before") {
		t.Errorf("status %d: %s", status, said)
	}
	first, err := os.ReadFile(recorded)
	second, err2 := os.ReadFile(at("memory.pickle"))
	if err != nil || err2 != nil || !bytes.Equal(first, second) {
		t.Errorf("the snapshot has %d bytes, not %d: %v, %v", len(second), len(first), err, err2)
	}
	if page, err := os.ReadFile(at("page.html")); err != nil || !strings.Contains(string(page), `"source":"gaugeblock run -- `+with+`"`) {
		t.Errorf("the page has %d bytes: %v", len(page), err)
	}
	if status, said := runs(with, "--compare", at("result.json")); status != 3 || strings.Contains(said, "more than before") || strings.Contains(said, "no call sites") {
		t.Errorf("status %d: %s", status, said)
	}
	if status, said := runs(with, "--json", at("other.json")); status != 3 || strings.Contains(said, "html") {
		t.Errorf("status %d: %s", status, said)
	} else if text, err := os.ReadFile(at("other.json")); err != nil || strings.Contains(string(text), "snapshot") || strings.Contains(string(text), `"sites"`) {
		t.Errorf("%v: %s", err, text)
	}
	for _, flag := range []string{"--snapshot", "--report"} {
		if status, said := runs(program, flag, at("none")); status != statusBadInput || !strings.Contains(said, "gaugeblock: run: there is no memory snapshot: no process ended with one") {
			t.Errorf("%s: status %d: %s", flag, status, said)
		}
	}
	if _, err := os.Stat(at("none")); err == nil {
		t.Error("a file is there all the same")
	}
}

// TestSourceLines: a line of a file of the program is told without space around it, and nothing of what is no file.
func TestSourceLines(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("a:b.py", []byte("first\n  second  \n\nlast"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := sourceFiles{}
	for at, want := range map[string]string{
		"a:b.py:1": "first", "a:b.py:2": "second", "a:b.py:3": "", "a:b.py:4": "last", "a:b.py:5": "", "a:b.py:0": "", "a:b.py:-1": "", "a:b.py": "", "7": "", "": "", "<string>:1": "", "a:b.py:x": "",
	} {
		if got := files.line(at); got != want {
			t.Errorf("%s: %q", at, got)
		}
	}
	if len(files) != 2 {
		t.Errorf("files are read: %q", files)
	}
}
