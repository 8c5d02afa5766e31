package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestNamesWithLineFeeds: a file whose name has a line feed makes no line of its own, whatever
// the file says and whether or not it can be read.
func TestNamesWithLineFeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	snapshot, err := os.ReadFile(hostileFiles(t)[10])
	if err != nil {
		t.Fatal(err)
	}
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0]}` + "\n"
	texts := map[string]string{
		".jsonl": header + `{"op":"malloc","id":0,"size":512}` + "\n" + `{"end":true}` + "\n",
		".json":  string(snapshot),
		".csv":   "Thread,Time,Action,Pointer,Size,Stream\n0,1,allocate,0x1000,10,0\n",
		".so":    "",
		"":       "{}",
	}
	for ending, text := range texts {
		file := "a\nFORGED: exact\r\nFORGED" + ending
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		folder := "folder\nFORGED" + ending
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, named := range []string{file, folder, "missing\nFORGED" + ending} {
			for _, args := range [][]string{
				{"replay", named}, {"replay", "-v", named}, {"replay", "-vv", named}, {"replay", "--json", named}, {"check", named}, {"check", "--json", named},
				{"whatif", named}, {"whatif", "--json", named}, {"report", named}, {"report", named, named}, {"report", named, "-o", named + "/x"},
				{"report", named, "-o", named + ".html"}, {"examine", named}, {"examine", "--", "./" + named},
			} {
				if args[0] == "examine" && len(args) == 2 && ending != ".so" {
					continue
				}
				var stdout, stderr bytes.Buffer
				run(args, strings.NewReader(""), &stdout, &stderr)
				for line := range strings.Lines(stdout.String() + stderr.String()) {
					if strings.HasPrefix(line, "FORGED") {
						t.Errorf("%q prints the line %q", args, line)
					}
				}
			}
		}
	}
}

// TestMessagesAreShort: a file can have a name, a word or a value of any length, and a command
// line too.
func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	const header = `{"format":"allocator-trace","version":2,"total_memory":1073741824,"streams":[0]`
	for _, test := range []struct {
		file, text string
		args       []string
	}{
		{"op.jsonl", header + "}\n" + `{"op":"` + long + `"}` + "\n", []string{"replay"}},
		{"op.jsonl", header + "}\n" + `{"op":"` + long + `"}` + "\n", []string{"check"}},
		{"settings.jsonl", header + `,"settings":"` + long + `:1"}` + "\n" + `{"end":true}` + "\n", []string{"replay"}},
		{"settings.jsonl", header + `,"settings":"` + long + `:1"}` + "\n" + `{"end":true}` + "\n", []string{"whatif"}},
		{"type.json", `{"segments":[{"device":0,"address":0,"total_size":0,"segment_type":"` + long + `","blocks":[]}],"device_traces":[]}`, []string{"whatif"}},
		{"type.json", `{"segments":[{"device":0,"address":0,"total_size":0,"segment_type":"` + long + `","blocks":[]}],"device_traces":[]}`, []string{"report"}},
		{"conf.json", `{"segments":[],"device_traces":[[]],"allocator_settings":{"PYTORCH_ALLOC_CONF":"` + long + `"}}`, []string{"report"}},
		{"conf.json", `{"segments":[],"device_traces":[[]],"allocator_settings":{"PYTORCH_ALLOC_CONF":"` + strings.Repeat("x:1,max_split_size_mb:64,", 1<<16) + `"}}`, []string{"whatif"}},
		{"no", "", []string{"whatif", "--settings", long}},
		{"no", "", []string{"report", "--limit", long}},
		{"no", "", []string{"check", "-j", long}},
	} {
		file := filepath.Join(t.TempDir(), test.file)
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		args := append(test.args, file)
		status := run(args, strings.NewReader(""), &stdout, &stderr)
		if n := stderr.Len(); status != statusBadInput || n == 0 || n > messageBegin+messageEnd+1000 {
			t.Errorf("%s %s: status %d, a message of %d bytes: %.200q", test.args[0], test.file, status, n, &stderr)
		}
	}
}

// TestReportOntoStdin: standard output that is the input is refused as well.
func TestReportOntoStdin(t *testing.T) {
	t.Chdir(copied(t, "a.pickle.gz"))
	before, err := os.ReadFile("a.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("ranks", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link("a.pickle.gz", "ranks/a.pickle.gz"); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"a.pickle.gz", "-", "ranks"} {
		stdin, err := os.Open("a.pickle.gz")
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := os.OpenFile("a.pickle.gz", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		status := run([]string{"report", "--no-whatif", from, "-o", "-"}, stdin, stdout, &stderr)
		stdin.Close()
		stdout.Close()
		after, err := os.ReadFile("a.pickle.gz")
		if status != statusBadInput || !strings.Contains(stderr.String(), "is the input, and is not overwritten") || err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: status %d, %s (%v); the input is unchanged: %v", from, status, &stderr, err, bytes.Equal(before, after))
		}
	}
}

// TestWhatIfOfCutTrace: a trace that is cut off between two lines is said to have no end, and
// whatif keeps to its memory with a trace as well.
func TestWhatIfOfCutTrace(t *testing.T) {
	const whole = `{"format":"allocator-trace","version":2,"total_memory":85899345920,"streams":[0]}
{"op":"malloc","id":0,"size":512,"addr":4294967296,"events":[["segment_alloc",4294967296,2097152,0],["alloc",4294967296,512,0]]}
{"op":"free","id":0,"events":[["free_requested",4294967296,512,0],["free_completed",4294967296,512,0]]}
{"end":true}
`
	file := filepath.Join(t.TempDir(), "cut.jsonl")
	for end := range len(whole) + 1 {
		if end < 82 && end%8 != 0 {
			continue // in the header
		}
		if err := os.WriteFile(file, []byte(whole[:end]), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{"--all", "--json"} {
			var stdout, stderr bytes.Buffer
			status := run([]string{"whatif", form, file}, nil, &stdout, &stderr)
			said := status == statusBadInput || strings.Contains(strings.ReplaceAll(stdout.String(), "\n", " "), "the trace has no end") || strings.Contains(stdout.String(), `"no_end": true`)
			if want := end < len(whole)-1; said != want {
				t.Errorf("%s, %d of %d bytes: status %d, said %v: %s%s", form, end, len(whole), status, said, &stdout, &stderr)
			}
		}
	}
	var long strings.Builder
	lines := strings.SplitAfter(whole, "\n")
	long.WriteString(lines[0])
	for range 1 << 14 {
		long.WriteString(lines[1] + lines[2])
	}
	if err := os.WriteFile(file, []byte(long.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	runtime.GC()
	status := run([]string{"whatif", "--max-memory", "1B", file}, nil, &stdout, &stderr)
	if !strings.Contains(stderr.String(), "line 257: this needs more than 1 bytes of memory") || status != statusBadInput {
		t.Errorf("status %d, %s", status, &stderr)
	}
}
