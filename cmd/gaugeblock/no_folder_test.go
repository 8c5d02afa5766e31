package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoFolder: a command that needs a folder for what it builds says so where none can be made, and prints and writes
// nothing but, as fit does, the table of no tries.
func TestNoFolder(t *testing.T) {
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
		if status != statusBadInput || stdout.Len() > 0 && !strings.HasPrefix(line, "fit") || !strings.Contains(stderr.String(), wrong) {
			t.Errorf("%s: status %d, %s%s", line, status, &stdout, &stderr)
		}
	}
}
