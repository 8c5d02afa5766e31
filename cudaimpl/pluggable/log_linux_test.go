package pluggable_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gaugeblock/cudaimpl/pluggable"
)

// TestLogOnFullDisk: a trace that cannot be written whole is an error, and is not there; one that can is for all to read.
func TestLogOnFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	write := func(path string) error {
		l, err := pluggable.NewLibrary(newDevice(), pluggable.Environment{Trace: path})
		must(t, err)
		for range 50 {
			l.Free(l.Malloc(1000, 0, 0))
		}
		return l.Close()
	}
	must(t, write(path))
	whole, err := os.Stat(path)
	if err != nil || whole.Mode().Perm() != 0o644 {
		t.Fatalf("%v, %v", whole, err)
	}
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: uint64(whole.Size()) - 1, Max: before.Max}))
	err = write(path + "2")
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	if !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a file that may not be so large: %v", err)
	}
	if left, _ := filepath.Glob(path + "2*"); left != nil {
		t.Errorf("it has left %q", left)
	}
}
