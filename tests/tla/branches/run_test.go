package branches

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"gaugeblock/internal/rewrite"
)

// packages are those whose branches are recorded.
var packages = []string{"model", "model/bounded"}

// command is the folder of the command that explores.
const command = "tests/tla/branches/explore"

// Output is what the command prints of a configuration; see explore/main.go.
type Output struct {
	Configuration string
	Branches      map[string][]int
	Actions       map[string]int
	States, Edges int
}

// A Run is the result of exploring some configurations.
type Run struct {
	Packages []*Package
	Outputs  []Output
}

// Explore builds the command in a folder for temporary files, and explores configurations.
func Explore(root, dir string, names []string) (*Run, error) {
	run := &Run{}
	for _, path := range packages {
		p, err := Instrument(root, path)
		if err != nil {
			return nil, err
		}
		run.Packages = append(run.Packages, p)
	}
	program := filepath.Join(dir, "explore")
	overlay, err := run.writeOverlay(root, dir)
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-ldflags=-s -w", "-o", program, "./"+command)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the rewritten sources: %w\n%s", err, out)
	}
	explore := exec.Command(program, names...)
	explore.Stderr = os.Stderr
	lines, err := explore.Output()
	if err != nil {
		return nil, fmt.Errorf("exploring: %w", err)
	}
	return run, run.read(lines)
}

func (run *Run) read(lines []byte) error {
	in := json.NewDecoder(bytes.NewReader(lines))
	for in.More() {
		var o Output
		if err := in.Decode(&o); err != nil {
			return err
		}
		run.Outputs = append(run.Outputs, o)
	}
	return nil
}

// writeOverlay writes the rewritten files, and the list of them for "go build".
func (run *Run) writeOverlay(root, dir string) (list string, err error) {
	texts := map[string]string{filepath.Join(root, command, "taken.go"): string(takenFile(run.Packages))}
	for _, p := range run.Packages {
		for path, text := range p.Files {
			texts[filepath.Join(root, path)] = text
		}
	}
	return rewrite.Overlay(dir, texts)
}

// takenFile is the file of the command that reads which branches were taken.
func takenFile(packages []*Package) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package main\n\nimport (\n\t\"sync/atomic\"\n\n")
	for i, p := range packages {
		fmt.Fprintf(&b, "\tp%d \"gaugeblock/%s\"\n", i, p.Path)
	}
	fmt.Fprintf(&b, ")\n\nfunc init() {\n")
	for i, p := range packages {
		fmt.Fprintf(&b, "\ttaken[%q] = func() []int { return since(p%d.BranchesTaken[:]) }\n", p.Path, i)
	}
	fmt.Fprintf(&b, `}

func since(branches []atomic.Bool) (list []int) {
	for i := range branches {
		if branches[i].Swap(false) {
			list = append(list, i)
		}
	}
	return list
}
`)
	return b.Bytes()
}
