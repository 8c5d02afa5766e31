package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKept: what was built of the same texts by the same commands is taken from the cache, in whatever
// folder. Anything else is built: another text, option or compiler, and if the cache has only a part
// of it, or cannot be read or written.
func TestKept(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	compiler := filepath.Join(t.TempDir(), "compiler")
	calls := filepath.Join(t.TempDir(), "calls")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho >>" + calls + "; echo built >$1/a; echo of $2 >$1/b\n"
	write(compiler, script)
	kept := func(want int, text, option string) {
		t.Helper()
		dir := t.TempDir()
		if err := os.RemoveAll(calls); err != nil {
			t.Fatal(err)
		}
		if err := Kept(dir, []string{"a", "b"}, []string{text}, exec.Command(compiler, dir, option)); err != nil {
			t.Fatal(err)
		}
		said, _ := os.ReadFile(calls)
		if got := strings.Count(string(said), "\n"); got != want {
			t.Errorf("text %q, option %q: built %d times, not %d", text, option, got, want)
		}
		if b, err := os.ReadFile(filepath.Join(dir, "b")); string(b) != "of "+option+"\n" {
			t.Errorf("text %q, option %q: %q, %v", text, option, b, err)
		}
	}
	for range 2 {
		for _, want := range []int{1, 0} {
			kept(want, "text", "-O1")
			kept(want, "other text", "-O1")
			kept(want, "text", "-O2")
		}
		write(compiler, script+"# another one\n")
	}
	folders, err := filepath.Glob(filepath.Join(home, "gaugeblock", "built-*"))
	if err != nil || len(folders) != 6 {
		t.Fatal(folders, err)
	}
	for _, folder := range folders {
		if err := os.Remove(filepath.Join(folder, "b")); err != nil {
			t.Fatal(err)
		}
	}
	kept(1, "text", "-O2")
	kept(0, "text", "-O2")
	for _, home := range []string{filepath.Join(compiler, "below a file"), "relative", ""} {
		t.Setenv("XDG_CACHE_HOME", home)
		t.Setenv("HOME", "")
		kept(1, "text", "-O2")
		kept(1, "text", "-O2")
	}
}
