package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMaxMemory: a file of 20 KB that becomes 20 MB of lists, each of which takes far more
// memory, is refused by both commands, with what the flag allows in the message.
func TestMaxMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bomb.pickle.gz")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, "\x80\x04"+strings.Repeat("]", 20<<20)+".")
	w.Close()
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"whatif", file, "--max-memory", "64MiB"},
		{"report", "-o", "-", file, "--max-memory", "64MiB"},
		{"whatif", "-", "--max-memory", "64MiB"},
	} {
		var out, problem bytes.Buffer
		status := run(args, bytes.NewReader(packed.Bytes()), &out, &problem)
		if status != 2 || out.Len() > 0 || !strings.Contains(problem.String(), "67108864 bytes of memory") {
			t.Errorf("%q: status %d, %d bytes, %s", args, status, out.Len(), problem.String())
		}
	}
}
