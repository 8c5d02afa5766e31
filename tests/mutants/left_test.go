package mutants

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// changesOf lists the files of a checkout that are changed or new; none if git cannot tell.
func changesOf(root string) []string {
	out, err := exec.Command("git", "-C", root, "status", "--porcelain", "--untracked-files=all").Output()
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(out), "\n"), "\n")
}

// leftBehind is an error if tests of mutants have changed the checkout: they run in it, and a mutant may lose where
// a file belongs.
func leftBehind(before, after []string) error {
	left := slices.DeleteFunc(slices.Clone(after), func(file string) bool { return slices.Contains(before, file) })
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("mutants left files behind, or changed some:\n%s", strings.Join(left, "\n"))
}

func TestLeftBehind(t *testing.T) {
	before := []string{" M changed.go", "?? notes"}
	for what, after := range map[string][]string{"nothing": before, "what was put back": {"?? notes"}} {
		if err := leftBehind(before, after); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	err := leftBehind(before, append(before, "?? tools/a.part"))
	if err == nil || !strings.HasSuffix(err.Error(), "\n?? tools/a.part") {
		t.Errorf("a new file: %v", err)
	}
}
