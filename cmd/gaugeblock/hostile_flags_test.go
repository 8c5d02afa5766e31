package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHostileFlags: flags and arguments of examine and torch that make no sense are refused at
// once, before anything is built, with a message that names what is wrong, and nothing is written.
func TestHostileFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"fifo", "fifo.so"} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Symlink("loop", "loop"), os.Mkdir("dir.so", 0o700), os.WriteFile("empty.so", nil, 0o600), os.Mkdir("out", 0o700)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	temporary := filepath.Join(t.TempDir())
	t.Setenv("TMPDIR", temporary)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"examine", "fifo.so"}, "fifo.so is no shared library: it is no regular file"},
		{[]string{"examine", "fifo"}, "fifo is neither a shared library, whose name ends in .so, nor a program that can be started"},
		{[]string{"examine", "--python", "fifo"}, "fifo is no module: it is no regular file"},
		{[]string{"run", "--compare", "/dev/zero", "--", "true"}, "/dev/zero is no result of gaugeblock run --json: it is longer than 64 MiB"},
		{[]string{"examine", "dir.so"}, "dir.so is no shared library: it is no regular file"},
		{[]string{"examine", "empty.so"}, "empty.so is no shared library"},
		{[]string{"examine", "--alloc", "a", "--", "true"}, "--alloc and --free name functions of a library"},
		{[]string{"examine", "--out", "fifo", "--", "true"}, "--out=fifo is not a directory"},
		{[]string{"examine", "--out", "loop", "--", "true"}, "too many levels of symbolic links"},
		{[]string{"examine", "--out", "/dev/full", "--", "true"}, "--out=/dev/full is not a directory"},
		{[]string{"torch", "--out", "fifo"}, "--out=fifo is not a directory"},
		{[]string{"torch", "--out", "loop"}, "too many levels of symbolic links"},
		{[]string{"torch", "--out", "/dev/null/x"}, "not a directory"},
		{[]string{"torch", "--torch", "fifo"}, "there is no libc10_cuda.so in fifo"},
		{[]string{"torch", "--workers", "2000000000"}, "--jobs=2000000000 is more than"},
		{[]string{"run", "--bogus", "--", "true"}, "run: unknown flag --bogus"},
		{[]string{"run", "--gpu", "4090", "--setting", "x", "--", "true"}, "run: unknown flag --setting"},
		{[]string{"fit", "--var", "B=1..2", "--bogus", "--", "true"}, "fit: unknown flag --bogus"},
		{[]string{"run", "--"}, "command"},
		{[]string{"report", "-", "-"}, "standard input can be read only once"},
		{[]string{"compare", "--patience", "0s", "-"}, "--patience=0s: a call needs some time"},
		{[]string{"soak", "--out", "loop"}, "too many levels of symbolic links"},
	} {
		var stdout, stderr bytes.Buffer
		began := time.Now()
		status := run(test.args, strings.NewReader(""), &stdout, &stderr)
		if status != statusBadInput || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) || time.Since(began) > 10*time.Second {
			t.Errorf("%q: status %d after %v, %s%s", test.args, status, time.Since(began), &stdout, &stderr)
		}
	}
	for dir, want := range map[string]int{".": 6, temporary: 0, "out": 0} {
		if left, err := os.ReadDir(dir); err != nil || len(left) != want {
			t.Errorf("%s has %v, %v", dir, left, err)
		}
	}
}
