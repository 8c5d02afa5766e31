package explore_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model/explore"
)

// forbidden is a state in the middle of the cube, far from the initial one.
var forbidden = explore.Options[[3]byte]{
	Invariants: []explore.Invariant[[3]byte]{{Name: "P", Holds: func(s [3]byte) bool { return s != [3]byte{14, 14, 7} }}},
}

// stoppedIn explores in a new directory, and stops after some batches.
func stoppedIn(t *testing.T, o explore.Options[[3]byte], batches int) string {
	dir := t.TempDir()
	o.Stopped = func() bool { batches--; return batches == 0 }
	if _, err := in(dir, o); err != nil {
		t.Fatal(err)
	}
	return dir
}

// damages are what can happen to a file. Each is done to a file of a copy of a directory.
func damages(text []byte, other string) map[string]func(path string) error {
	all := map[string]func(path string) error{
		"a directory": func(path string) error { os.Remove(path); return os.Mkdir(path, 0o777) },
		"a FIFO":      func(path string) error { os.Remove(path); return syscall.Mkfifo(path, 0o666) },
		"a link":      func(path string) error { os.Remove(path); return os.Symlink(other, path) },
		"a loop":      func(path string) error { os.Remove(path); return os.Symlink(path, path) },
		"absent":      os.Remove,
		"longer": func(path string) error {
			return os.WriteFile(path, append(slices.Clone(text), text[:min(16, len(text))]...), 0o666)
		},
	}
	const count = `"edges": `
	for _, at := range []int{0, len(text) / 3, len(text) - 2, bytes.Index(text, []byte(count)) + len(count)} {
		if at < 0 || at >= len(text) {
			continue
		}
		all[fmt.Sprintf("cut at %d", at)] = func(path string) error { return os.WriteFile(path, text[:at], 0o666) }
		for _, flip := range []byte{1, 0xff} {
			all[fmt.Sprintf("byte %d ^ %#x", at, flip)] = func(path string) error {
				changed := slices.Clone(text)
				changed[at] ^= flip
				return os.WriteFile(path, changed, 0o666)
			}
		}
	}
	return all
}

// TestDamagedFiles: whatever was done to one of the files, the exploration is refused with the
// name of a file, or has the right result. It waits for nothing, and changes no other file.
func TestDamagedFiles(t *testing.T) {
	defer explore.SetBatch(100)()
	other := filepath.Join(t.TempDir(), "other")
	refused := map[string]int{}
	for name, c := range map[string]struct {
		options explore.Options[[3]byte]
		batches int
	}{"all states": {explore.Options[[3]byte]{}, 25}, "a violation": {forbidden, 40}, "finished": {forbidden, 1000}} {
		want := explore.Explore(cube{14}, c.options)
		dir := stoppedIn(t, c.options, c.batches)
		for _, entry := range must(os.ReadDir(dir)) {
			text := must(os.ReadFile(filepath.Join(dir, entry.Name())))
			for what, damage := range damages(text, other) {
				copied := copyDir(t, dir)
				if err := os.WriteFile(other, []byte("another file"), 0o666); err != nil {
					t.Fatal(err)
				}
				if err := damage(filepath.Join(copied, entry.Name())); err != nil {
					t.Fatal(err)
				}
				got, err := soon(t, copied, c.options)
				switch {
				case err != nil && strings.Contains(err.Error(), copied) && strings.Count(err.Error(), "\n") == 0:
					refused[entry.Name()]++
				case err != nil:
					t.Errorf("%s, %s %s: the error names no file, or has several lines: %v", name, entry.Name(), what, err)
				case cmp.Diff(want, got) != "":
					t.Errorf("%s, %s %s: a wrong result: %d states, %d edges, depth %d", name, entry.Name(), what, got.States, got.Edges, got.Depth)
				}
				if text := must(os.ReadFile(other)); string(text) != "another file" {
					t.Errorf("%s, %s %s: has changed the file that the link points to", name, entry.Name(), what)
				}
			}
		}
	}
	for _, file := range []string{"checkpoint", "states", "lock"} {
		if refused[file] == 0 {
			t.Errorf("no damage of %s was refused", file)
		}
	}
}

// soon explores in a directory. It has to end, and a panic is an error that names no file.
func soon(t *testing.T, dir string, o explore.Options[[3]byte]) (got explore.Result[[3]byte], err error) {
	done := make(chan bool)
	go func() {
		defer close(done)
		defer func() {
			if failure := recover(); failure != nil {
				err = fmt.Errorf("panic: %v", failure)
			}
		}()
		got, err = in(dir, o)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s: it waits for ever", dir)
	}
	return got, err
}
