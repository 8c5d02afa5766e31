package broken

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// violations are the broken allocators that break what an abstract memory promises: those of
// testdata/memory, and these.
var violations = []string{"early_reuse", "uses_ignored", "wrong_stream"}

// TestAbstractMemory builds each, and expects that a random program has a step that is none of an
// abstract memory (tla/AbstractMemory.tla), or a malloc that fails which CannotServe does not allow. Without
// -search it builds one.
func TestAbstractMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tests of internal/refinement")
	}
	paths, err := filepath.Glob("testdata/memory/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no broken allocators: %v", err)
	}
	for _, name := range violations {
		paths = append(paths, filepath.Join("testdata", name+".txt"))
	}
	failsEarly := filepath.Join("testdata", "memory", "fails_early.txt")
	if !*search {
		paths = []string{failsEarly}
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			b, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			command, err := b.Build(t.TempDir(), "./internal/refinement", "test", "-c", "-vet=off")
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(command, "-test.run", "^TestIsAbstractMemory$", "-rapid.nofailfile", "-rapid.shrinktime=0s", "-rapid.seed", "1").CombinedOutput()
			want := "no step of an abstract memory"
			if path == failsEarly {
				want = "an abstract memory can serve what fails"
			}
			if err == nil || !strings.Contains(string(out), want) {
				t.Fatalf("%q is not said: %v\n%s", want, err, out)
			}
		})
	}
}
