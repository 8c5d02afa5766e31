package mutants

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// equivalentFile has the mutants that no test can notice. A line with a folder and a function, as
// in "alloc device.malloc", is followed by a line for each of its mutants, which begins with a
// tab: the kind and the text, as the tool prints them, a tab, and the reason. The function may
// stand in any file of the folder, and anywhere in it.
const equivalentFile = "tests/mutants/testdata/equivalent.txt"

// arguments are the reasons why mutants change nothing, by the mutants' names.
type arguments map[string]string

func readEquivalent(file string) (arguments, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, function := arguments{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if mutant, isMutant := strings.CutPrefix(line, "\t"); isMutant {
			name, reason, _ := strings.Cut(mutant, "\t")
			all[function+"\t"+name] = reason
		} else if !strings.HasPrefix(line, "#") {
			function = line
		}
	}
	return all, nil
}

// String is the text of the file.
func (a arguments) String() string {
	var out strings.Builder
	out.WriteString("# Mutants that no test can notice, with the reasons: see equivalent.go.\n")
	last := ""
	for _, name := range slices.Sorted(maps.Keys(a)) {
		function, mutant, _ := strings.Cut(name, "\t")
		if function != last {
			fmt.Fprintln(&out, function)
		}
		last = function
		fmt.Fprintf(&out, "\t%s\t%s\n", mutant, a[name])
	}
	return out.String()
}

// stale are the names that no mutant of the present source has.
func (a arguments) stale(root string) (names []string, err error) {
	there := map[string]bool{}
	for _, folder := range folders {
		all, err := folder.find(root, nil)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			there[m.name()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if !there[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// prune writes the file without the stale ones.
func (a arguments) prune(root string) error {
	names, err := a.stale(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Println("no mutant any more:", strings.ReplaceAll(name, "\t", " "))
		delete(a, name)
	}
	return os.WriteFile(filepath.Join(root, equivalentFile), []byte(a.String()), 0o666)
}
