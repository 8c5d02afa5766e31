package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// TestGroupsExist: each line of testdata/alone.txt and testdata/weakened.txt has a mutant of the present source.
func TestGroupsExist(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for file, folder := range map[string]string{"testdata/alone.txt": "model", "testdata/weakened.txt": "model/bounded"} {
		groups, err := readGroups(file)
		if err != nil || len(groups) == 0 {
			t.Fatalf("%d groups: %v", len(groups), err)
		}
		all, err := findAll(root, folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			if !slices.ContainsFunc(all, func(m mutant) bool { return g.has(&m) }) {
				t.Errorf("%s: %v %v: no mutant is of this group", file, g.function, g.mutant)
			}
		}
	}
}
