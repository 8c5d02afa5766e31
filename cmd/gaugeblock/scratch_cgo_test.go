//go:build cgo

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestSignalEndsBuild: Ctrl-C while torch --edges builds ends it as every signal does; only later
// does it end the search, with what was found.
func TestSignalEndsBuild(t *testing.T) {
	notIgnored(t, os.Interrupt)
	temporary, torch := t.TempDir(), t.TempDir()
	said, compiler := filepath.Join(torch, "said"), filepath.Join(torch, "compiler")
	for path, text := range map[string]string{
		filepath.Join(torch, "libc10_cuda.so"): "",
		filepath.Join(torch, "libc10.so"):      "",
		compiler:                               "#!/bin/sh\necho > " + said + "\nexec sleep 600\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(filepath.Dir(torch), "include", "c10"), 0o777); err != nil {
		t.Fatal(err)
	}
	c := process("torch", "--edges", "--torch", torch)
	c.Env = append(c.Env, "TMPDIR="+temporary, "CC="+compiler, "CXX="+compiler)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(said)
	err := c.Process.Signal(os.Interrupt)
	_ = c.Wait()
	if left, wrong := os.ReadDir(temporary); err != nil || c.ProcessState.ExitCode() != 130 || wrong != nil || len(left) > 0 {
		t.Errorf("status %d, want 130: %v, %v, left %v: %s", c.ProcessState.ExitCode(), err, wrong, left, &stderr)
	}
}
