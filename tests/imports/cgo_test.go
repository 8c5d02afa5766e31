package imports

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestBuildsWithoutCgo: every package compiles without cgo, as "CGO_ENABLED=0 go build ./..." needs
// it. Nothing is linked, and what was compiled before is taken from the build cache.
func TestBuildsWithoutCgo(t *testing.T) {
	var problems bytes.Buffer
	list := exec.Command("go", "list", "-export", "./...")
	list.Dir, list.Stderr = root, &problems
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := list.Run(); err != nil {
		t.Errorf("%v\n%s", err, &problems)
	}
}
