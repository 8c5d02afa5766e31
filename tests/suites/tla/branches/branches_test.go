package branches

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"testing"

	"gaugeblock/tests/suites/golden"
	"gaugeblock/tla"
)

var all = flag.Bool("all", false, "explore the large configurations too")

func TestX(t *testing.T) {
	root, err := golden.Root()
	if err != nil {
		t.Fatal(err)
	}
	list, err := tla.Configurations()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list {
		if c.Mirror != "" && (c.Size == "small" || *all) {
			names = append(names, c.Name)
		}
	}
	run, err := Explore(root, t.TempDir(), names)
	if err != nil {
		t.Fatal(err)
	}
	n, un := 0, 0
	f, _ := os.Create("/tmp/cover_unreached.txt")
	for _, p := range run.Packages {
		reached := make([]bool, len(p.Branches))
		for _, o := range run.Outputs {
			for _, i := range o.Branches[p.Path] {
				reached[i] = true
			}
		}
		var lines []string
		for i, b := range p.Branches {
			n++
			if !reached[i] {
				un++
				lines = append(lines, b.String())
			}
		}
		sort.Strings(lines)
		for _, l := range lines {
			fmt.Fprintln(f, l)
		}
	}
	f.Close()
	t.Log(n, un)
	for _, o := range run.Outputs {
		t.Log(o.Configuration, o.States, o.Edges, o.Actions)
	}
}
