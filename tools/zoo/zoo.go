package zoo

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gaugeblock/tools/foreign"
)

//go:embed zoo.txt
var table string

// A Bug is a real one.
type Bug struct {
	Name          string
	Before, After string   // recipes; After may be "-"
	By            []string // a program and its words
	Environment   []string
	Seeds         int
	Operations    int      // of the program of each seed
	Rules         []string // that are broken
	What          string
}

// Bugs are those of zoo.txt, in its order.
func Bugs() ([]Bug, error) { return parse(table) }

var variable = regexp.MustCompile(`^[A-Z_]+=`)

func parse(text string) (bugs []Bug, err error) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if more, continues := strings.CutPrefix(line, "|"); continues && len(bugs) > 0 {
			b := &bugs[len(bugs)-1]
			b.What = strings.TrimSpace(b.What + " " + strings.TrimSpace(more))
			continue
		}
		c := strings.Split(line, "|")
		if len(c) != 6 {
			return nil, fmt.Errorf("zoo.txt:%d: %d columns, not 6", i+1, len(c))
		}
		for k := range c {
			c[k] = strings.TrimSpace(c[k])
		}
		b := Bug{Name: c[0], Before: c[1], After: c[2]}
		if slices.ContainsFunc(bugs, func(other Bug) bool { return other.Name == b.Name }) {
			return nil, fmt.Errorf("zoo.txt:%d: the name %q is used twice", i+1, b.Name)
		}
		b.Rules = strings.Split(c[5], ", ")
		for _, word := range strings.Fields(c[3]) {
			if variable.MatchString(word) {
				b.Environment = append(b.Environment, word)
			} else {
				b.By = append(b.By, word)
			}
		}
		if _, err := fmt.Sscanf(c[4], "%dx%d", &b.Seeds, &b.Operations); err != nil || len(b.By) == 0 {
			return nil, fmt.Errorf("zoo.txt:%d: %q and %q are not a program and SEEDSxOPERATIONS", i+1, c[3], c[4])
		}
		bugs = append(bugs, b)
	}
	return bugs, nil
}

// Recipes finds the recipes of the bug: one, or with the fix two.
func (b Bug) Recipes(all []foreign.Recipe) (list []foreign.Recipe, err error) {
	for _, name := range []string{b.Before, b.After} {
		i := slices.IndexFunc(all, func(r foreign.Recipe) bool { return r.Name == name })
		switch {
		case name == "-":
		case i < 0:
			return nil, fmt.Errorf("%s: there is no recipe %s", b.Name, name)
		default:
			list = append(list, all[i])
		}
	}
	return list, nil
}

// Program is the program of tools/foreign/program that finds the bug, or "" if the recipe's own
// does.
func (b Bug) Program() string {
	if b.By[0] == "itself" {
		return ""
	}
	return b.By[0]
}

// A Finding is what a program says of a seed.
type Finding struct {
	Seed       int      `json:"seed"`
	Found      string   `json:"found"` // the rule, or ""
	Operations int      `json:"operations"`
	Text       string   `json:"text"`
	Smallest   []string `json:"smallest"`
}

// Look lets the bug's program look at what a recipe has built in a directory, with seeds
// from the first to the last.
func (b Bug) Look(r foreign.Recipe, directory string, first, last int) ([]Finding, error) {
	file, err := filepath.Abs(filepath.Join(directory, r.File()))
	if err != nil {
		return nil, err
	}
	command := []string{file}
	if program := b.Program(); program != "" {
		command = []string{filepath.Join(filepath.Dir(file), program), file}
	}
	command = append(command, b.By[1:]...)
	command = append(command, "--seeds", fmt.Sprintf("%d-%d", first, last), "--operations", fmt.Sprint(b.Operations))
	run := exec.Command(command[0], command[1:]...)
	run.Env = append(os.Environ(), "GAUGEBLOCK_CUDA_HAZARDS=owners")
	run.Env = append(run.Env, b.Environment...)
	out, err := run.Output()
	if err != nil {
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			err = fmt.Errorf("%w: %s", err, ended.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	var findings []Finding
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		var f Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, fmt.Errorf("%s says %q: %w", strings.Join(command, " "), line, err)
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// Count is in how many of the findings one of the rules is broken, or without rules any,
// and after how many operations: the fewest, the median and the most.
func Count(findings []Finding, rules []string) (found, fewest, median, most int) {
	var operations []int
	for _, f := range findings {
		if f.Found != "" && (len(rules) == 0 || slices.Contains(rules, f.Found)) {
			operations = append(operations, f.Operations)
		}
	}
	if len(operations) == 0 {
		return 0, 0, 0, 0
	}
	slices.Sort(operations)
	return len(operations), operations[0], operations[len(operations)/2], operations[len(operations)-1]
}
