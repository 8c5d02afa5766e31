package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFolder: a command that needs a folder for what it builds says so where none can be made, and prints and writes
// nothing.
func TestNoFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	none := filepath.Join(t.TempDir(), "none")
	program := reserving(t, "1")
	t.Setenv("TMPDIR", none)
	for _, line := range []string{
		"run -- " + program, "fit --var A=1..2 -- " + program, "compare " + twoStreams + " pytorch", "examine -- true", "torch --ops 1",
		"explore ties --dir " + filepath.Join(twoStreams, "states"), "soak --ops 1 --out " + twoStreams,
		"report -o " + filepath.Join(twoStreams, "x.html") + " " + twoStreams, "report -o " + twoStreams + "/x/ " + twoStreams + " " + twoStreams + " " + twoStreams,
	} {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
		wrong := none
		if strings.Contains(line, twoStreams+"/") || strings.Contains(line, "--out") {
			wrong = filepath.Base(twoStreams)
		}
		if status != statusBadInput || stdout.Len() > 0 || !strings.Contains(stderr.String(), wrong) {
			t.Errorf("%s: status %d, %s%s", line, status, &stdout, &stderr)
		}
	}
	for _, damaged := range []string{"a.pickle", "b.pickle", "c.pickle"} {
		if err := os.WriteFile(damaged, []byte("no snapshot"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status := run([]string{"report", "-o", "new/", "a.pickle", "b.pickle", "c.pickle"}, strings.NewReader(""), io.Discard, io.Discard); status != statusBadInput {
		t.Errorf("pages of what is no snapshot: status %d", status)
	}
	if _, err := os.Stat("new"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder is left: %v", err)
	}
}
