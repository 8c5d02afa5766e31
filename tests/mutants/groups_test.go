package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// group argues for all mutants of a kind in some functions, of those that survive: why what
// judges need not notice them.
type group struct {
	function, mutant *regexp.Regexp
	reason           string
}

// readGroups reads a file of lines of three parts with tabs between them: regular expressions of
// the function, with its folder, and of the mutant, and the reason.
func readGroups(file string) (all []group, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 3 || parts[2] == "" {
			return nil, fmt.Errorf("%s:%d: not a function, a mutant and a reason, with tabs between them", file, number)
		}
		g := group{reason: parts[2]}
		if g.function, err = regexp.Compile("^(?:" + parts[0] + ")$"); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		if g.mutant, err = regexp.Compile("^(?:" + parts[1] + ")"); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		all = append(all, g)
	}
	return all, nil
}

func (g group) has(m *mutant) bool {
	function, text, _ := strings.Cut(m.name(), "\t")
	return g.function.MatchString(function) && g.mutant.MatchString(text)
}

// reasonOf is the reason of the first group that has a mutant, "" if none has.
func reasonOf(groups []group, m *mutant) string {
	for _, g := range groups {
		if g.has(m) {
			return g.reason
		}
	}
	return ""
}

// TestGroupsExist: each line of testdata/alone.txt has a mutant of the present source.
func TestGroupsExist(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := readGroups("testdata/alone.txt")
	if err != nil || len(groups) == 0 {
		t.Fatalf("%d groups: %v", len(groups), err)
	}
	all, err := findAll(root, "model", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		there := false
		for i := range all {
			there = there || g.has(&all[i])
		}
		if !there {
			t.Errorf("%v %v: no mutant is of this group", g.function, g.mutant)
		}
	}
}
