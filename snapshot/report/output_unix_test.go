//go:build unix

package report

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpecialOutputs: what exists and is no file is written into, and stays what it is.
func TestSpecialOutputs(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := OpenOutput(pipe)
	if err != nil || o.Exists() {
		t.Fatalf("%+v, %v", o, err)
	}
	end, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if err := o.WriteBy(func(w io.Writer) error { _, err := io.WriteString(w, "a page"); return err }); err != nil {
		t.Fatal(err)
	}
	if there, err := os.Stat(pipe); err != nil || there.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("the pipe is %v now, %v", there, err)
	}
	text := make([]byte, 6)
	if _, err := io.ReadFull(end, text); err != nil || string(text) != "a page" {
		t.Errorf("%q, %v", text, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(pipe), "*")); len(left) != 1 || !strings.HasSuffix(left[0], "pipe") {
		t.Errorf("left: %q", left)
	}
}
