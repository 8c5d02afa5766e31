package graphtree

import (
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/tests/broken"
)

var search = flag.Bool("search", false, "take away every rule of graph trees, which takes minutes")

// TestRules takes the rules of graph trees away, one at a time, and counts the
// recordings that notice. A file in testdata/rules is a rule: what it says, a piece of
// graphtree with it and without it, and how many recordings turn red. The piece
// is replaced while this package's tests are being built, of which TestGolden is then
// run.
//
// Each rule needs a build. So only the first is taken away, unless all are asked for with
// -args -search (make search).
func TestRules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds this package")
	}
	paths, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	if !*search {
		paths = paths[:1]
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			if *search {
				t.Parallel()
			}
			rule, err := broken.Read(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := strconv.Atoi(rule.Keys["red"])
			if err != nil || want == 0 {
				t.Fatalf("%s does not say how many recordings notice", path)
			}
			if got := withoutRule(t, rule); got != want {
				t.Errorf("%d recordings notice that the rule is missing, not %d", got, want)
			}
		})
	}
}

// withoutRule counts the recordings that are not exact without the rule.
func withoutRule(t *testing.T, rule *broken.Breakage) int {
	t.Helper()
	golden, err := rule.Build(t.TempDir(), "./tests/graphtree", "test", "-c", "-vet=off")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := exec.Command(golden, "-test.run", "^TestGolden$").Output() // fails, as it should
	return strings.Count(string(out), "    --- FAIL: TestGolden/")
}
