package broken

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// operations are those after which the search gives up.
const operations = "200000"

// seeds are those of the searches, each of which must find what is broken.
var seeds = []int{1, 100_001, 200_001, 300_001, 400_001}

// breakage is a way to break the reference.
type breakage struct {
	area          string
	longest       int    // operations of a counterexample that is as short as it should be
	file          string // relative to the root of the module
	before, after string
}

// TestFound builds each broken allocator and expects the search to find what is
// wrong with it, in few operations.
func TestFound(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command once for each broken allocator")
	}
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no broken allocators: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			b := read(t, path)
			command := build(t, b)
			for _, seed := range seeds {
				found := search(t, command, b.area, seed)
				t.Logf("seed %d: found after %d operations, %d are enough: %s", seed, found.FoundAfter, found.Length, found.Detail)
				if found.Length > b.longest {
					t.Errorf("seed %d: the shortest counterexample has %d operations, more than %d", seed, found.Length, b.longest)
				}
			}
		})
	}
}

// read reads a file of testdata.
func read(t *testing.T, path string) breakage {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, pieces, _ := strings.Cut(string(text), "-- before --\n")
	var b breakage
	var found bool
	if b.before, b.after, found = strings.Cut(pieces, "-- after --\n"); !found {
		t.Fatalf("%s has no piece before and after", path)
	}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "area":
			b.area = value
		case "file":
			b.file = value
		case "longest":
			if b.longest, err = strconv.Atoi(value); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	return b
}

// build builds the command with the piece replaced, and returns its file.
func build(t *testing.T, b breakage) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(root, filepath.FromSlash(b.file))
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), b.before); n != 1 {
		t.Fatalf("%s has the piece that is to be replaced %d times, not once", b.file, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, changed, strings.Replace(string(text), b.before, b.after, 1))
	write(t, filepath.Join(dir, "overlay.json"), string(overlay))
	command := filepath.Join(dir, "gaugeblock")
	gobuild := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", command, ".")
	gobuild.Dir = root
	if out, err := gobuild.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return command
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// counterexample is what the command says of one.
type counterexample struct {
	Detail     string `json:"detail"`
	FoundAfter int    `json:"found_after"`
	Length     int    `json:"length"`
}

// search runs the command and returns what it found, which must be something.
func search(t *testing.T, command, area string, seed int) counterexample {
	t.Helper()
	out, err := exec.Command(command, "soak", "--json", "--area", area, "--ops", operations,
		"--seed", strconv.Itoa(seed), "--out", t.TempDir()).Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, out)
	}
	var summary struct {
		Counterexamples []counterexample `json:"counterexamples"`
	}
	if err := json.Unmarshal(out, &summary); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(summary.Counterexamples) == 0 {
		t.Fatalf("nothing was found in %s operations", operations)
	}
	return summary.Counterexamples[0]
}
