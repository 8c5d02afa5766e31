package broken

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// operations are those after which the search gives up.
const operations = "200000"

// seeds are those of the searches, each of which must find what is broken.
var seeds = []int{1, 100_001, 200_001, 300_001, 400_001}

// search says that all are to be found. Without it only one is, to find that the search works.
var search = flag.Bool("search", false, "build each broken allocator, and search it from five seeds, which takes minutes")

// breakage is a way to break the reference.
type breakage struct {
	*Breakage
	area    string // of the search of conformance that finds it
	test    string // or the test of tests/linearizability
	longest int    // operations of a counterexample that is as short as it should be
}

// TestFound builds each broken allocator and expects the search to find what is
// wrong with it, in few operations.
func TestFound(t *testing.T) {
	seeds := seeds
	if testing.Short() {
		t.Skip("builds the command")
	}
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no broken allocators: %v", err)
	}
	if !*search {
		paths, seeds = []string{filepath.Join("testdata", "early_reuse.txt")}, seeds[:1]
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			if *search {
				t.Parallel()
			}
			b := read(t, path)
			command := build(t, b)
			for _, seed := range seeds {
				started := time.Now()
				found := b.search(t, command, seed)
				t.Logf("seed %d: found after %d operations, %d are enough, in %.1f s: %s",
					seed, found.FoundAfter, found.Length, time.Since(started).Seconds(), found.Detail)
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
	b, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	longest, err := strconv.Atoi(b.Keys["longest"])
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return breakage{b, b.Keys["area"], b.Keys["test"], longest}
}

// build builds what searches with the piece replaced, and returns its file.
func build(t *testing.T, b breakage) string {
	t.Helper()
	verb, source := []string{"build"}, "./cmd/gaugeblock"
	if b.test != "" {
		verb, source = []string{"test", "-c"}, "./tests/linearizability"
	}
	command, err := b.Build(t.TempDir(), source, verb...)
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// counterexample is what the command says of one.
type counterexample struct {
	Detail     string `json:"detail"`
	FoundAfter int    `json:"found_after"`
	Length     int    `json:"length"`
}

// search runs what was built, which must find something, and exits with 1 then.
func (b *breakage) search(t *testing.T, command string, seed int) counterexample {
	t.Helper()
	run := exec.Command(command, "soak", "--json", "--area", b.area, "--ops", operations,
		"--seed", strconv.Itoa(seed), "--out", t.TempDir())
	if b.test != "" {
		run = exec.Command(command, "-test.run", "^"+b.test+"$")
		run.Env = append(os.Environ(), "GAUGEBLOCK_SEED="+strconv.Itoa(seed))
	}
	out, err := run.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, out)
	}
	var found []counterexample
	if b.test != "" {
		found = fromTest(t, out)
	} else {
		found = fromSoak(t, out)
	}
	if len(found) == 0 {
		t.Fatalf("nothing was found:\n%s", out)
	}
	return found[0]
}

// fromSoak reads the summary of the command.
func fromSoak(t *testing.T, out []byte) []counterexample {
	t.Helper()
	var summary struct {
		Counterexamples []counterexample `json:"counterexamples"`
	}
	if err := json.Unmarshal(out, &summary); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return summary.Counterexamples
}

// fromTest reads what a test says of its failure.
func fromTest(t *testing.T, out []byte) []counterexample {
	t.Helper()
	begin, end := bytes.IndexByte(out, '{'), bytes.LastIndexByte(out, '}')
	if begin < 0 {
		return nil
	}
	var found counterexample
	if err := json.Unmarshal(out[begin:end+1], &found); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return []counterexample{found}
}
