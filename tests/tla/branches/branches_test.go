package branches

import (
	_ "embed"
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/checkout"
	"gaugeblock/tla"
)

var all = flag.Bool("all", false, "explore the large configurations too")

//go:embed unreached.txt
var unreachedText string

// sameGraph are small configurations whose graph is that of core_tiny or two_step_tiny, and
// whose properties others have.
var sameGraph = []string{"core_live", "core_weak_unasked", "limit", "two_step_live"}

// configurations lists those to explore, with the names of their modules.
func configurations(t *testing.T) (names []string, modules map[string]string) {
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	modules = map[string]string{}
	for _, c := range list {
		if c.Mirror != "" && (c.Size == "small" || *all) && !slices.Contains(sameGraph, c.Name) {
			names = append(names, c.Name)
			modules[c.Name] = c.Mirror
		}
	}
	return names, modules
}

// TestBranches: every branch of the model and every action is taken in some small
// configuration, or is listed in unreached.txt.
func TestBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a command, and explores the small configurations")
	}
	root, err := checkout.Root()
	if err != nil {
		t.Fatal(err)
	}
	names, modules := configurations(t)
	run, err := Explore(root, t.TempDir(), names)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readUnreached(unreachedText)
	if err != nil {
		t.Fatal(err)
	}
	explored := map[string]bool{}
	for _, name := range names {
		explored[name] = true
	}
	coverage, wrong := list.compare(run, explored)
	for _, w := range wrong {
		t.Error(w)
	}
	t.Logf("%d branches, %d taken, %d listed", coverage.Branches, coverage.Taken, coverage.Listed)
	for _, reason := range slices.Sorted(maps.Keys(coverage.ByReason)) {
		t.Logf("%5d  %s", coverage.ByReason[reason], reason)
	}
	checkActions(t, run, modules)
}

// checkActions: each action of a module is taken in one of its configurations.
func checkActions(t *testing.T, run *Run, modules map[string]string) {
	edges := map[string]map[string]int{} // by module and action
	withEvents := 0
	for _, o := range run.Outputs {
		module := modules[o.Configuration]
		if edges[module] == nil {
			edges[module] = map[string]int{}
		}
		for action, n := range o.Actions {
			edges[module][action] += n
		}
		if o.Actions["Complete"] > 0 {
			withEvents++
		}
	}
	for _, module := range slices.Sorted(maps.Keys(edges)) {
		for _, action := range slices.Sorted(maps.Keys(edges[module])) {
			isSeveral := (strings.HasPrefix(module, "two_step") || module == "callbacks") && action == "Malloc" // actions there
			hasCaller := module == "current" && edges[module][action+"On"] > 0                                  // and another name there
			if edges[module][action] == 0 && !isSeveral && !hasCaller {
				t.Errorf("no configuration of %s takes %s", module, action)
			}
		}
		t.Logf("%s: %v", module, edges[module])
	}
	t.Logf("events in %d of %d configurations", withEvents, len(run.Outputs))
}

// source has a branch of each kind.
const source = `package p

func f(a, b bool, n int) bool {
	if !a {
		return false
	}
	switch n {
	case 1, 2:
		n++
	default:
		n--
	}
	for range n {
		n--
	}
	return a && (b || g(func() bool { return n > 0 && b }))
}
`

// TestInstrument: the branches are found, and the source still has its meaning.
func TestInstrument(t *testing.T) {
	p := &Package{}
	p.Files = map[string]string{}
	if name, err := p.rewrite("p/p.go", []byte(source)); name != "p" || err != nil {
		t.Fatal(name, err)
	}
	var got []string
	for _, b := range p.Branches {
		got = append(got, strings.TrimPrefix(b.String(), "p/p.go f: "))
	}
	want := []string{
		"entered", "a is true", "a is false", "case 1, 2", "default", "for n",
		"a is true", "a is false", "b is true", "b is false", "g(func...) is true", "g(func...) is false",
		"n > 0 is true", "n > 0 is false", "b is true", "b is false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	const line = "return outcome(6, a) && (outcome(8, b) || outcome(10, g(func() bool {  branch"
	if text := string(p.Files["p/p.go"]); !strings.Contains(text, "return outcome(6, a) && (outcome(8, b) || outcome(10, g(func() bool { return outcome(12, n > 0) && outcome(14, b) })))") {
		t.Error(text, line)
	}
}

// TestCompare: a branch that is neither taken nor listed, one that is taken and listed, and an
// entry for no branch are wrong.
func TestCompare(t *testing.T) {
	branches := []Branch{
		{"f.go", "F", "entered", ""}, {"f.go", "F", "a", "true"}, {"f.go", "F", "a", "false"},
		{"g.go", "G", "entered", ""}, {"g.go", "G", "b", "true"},
	}
	run := &Run{
		Packages: []*Package{{Path: "p", Branches: branches}},
		Outputs:  []Output{{Configuration: "tiny", Branches: map[string][]int{"p": {0, 1}}}},
	}
	for _, c := range []struct{ list, want string }{
		{"# r\nf.go F: a is false\ng.go G: *\n", ""},
		{"# r\nf.go F: a is false\ng.go *\n", ""},
		{"# only tiny\nf.go F: a is false\n# r\ng.go *\n", "line 2: tiny does not take it"},
		{"# r\nf.go F: a is true\nf.go F: a is false\ng.go *\n", "line 2: it is taken: f.go F: a is true"},
		{"# only tiny\nf.go F: a is true\n# r\nf.go F: a is false\ng.go *\n", ""},
		{"# r\ng.go *\n", "no configuration takes: f.go F: a is false"},
		{"# r\nf.go F: *\ng.go *\n", "no configuration takes: f.go F: a is false\nline 2: there is no such branch that is not taken: f.go F: *"},
	} {
		list, err := readUnreached(c.list)
		if err != nil {
			t.Fatal(err)
		}
		_, wrong := list.compare(run, map[string]bool{"tiny": true})
		if got := strings.Join(wrong, "\n"); got != c.want {
			t.Errorf("%q: %q, not %q", c.list, got, c.want)
		}
	}
	if _, err := readUnreached("f.go F: a is true"); err == nil {
		t.Error("a branch needs no reason")
	}
}
