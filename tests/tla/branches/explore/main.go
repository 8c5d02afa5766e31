// Command explore explores configurations of tla/, and prints for each the branches and the
// actions that it takes, as JSON. Package branches builds it from rewritten sources, which
// record the branches; built as it is, it prints the actions only.
//
//	explore NAME...
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tla"
)

// taken are functions that list the branches of a package that were taken since the last
// call, by the package's path. A file that is added when the command is built fills it.
var taken = map[string]func() []int{}

// Output is a line of the output.
type Output struct {
	Configuration string           `json:"configuration"`
	Branches      map[string][]int `json:"branches"` // by package
	Actions       map[string]int   `json:"actions"`  // edges, by action
	States        int              `json:"states"`
	Edges         int              `json:"edges"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "explore:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	list, err := tla.Configurations()
	if err != nil {
		return err
	}
	lines := json.NewEncoder(os.Stdout)
	for _, name := range names {
		i := slices.IndexFunc(list, func(c tla.Configuration) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("there is no configuration %q", name)
		}
		o, err := explored(list[i])
		if err != nil {
			return err
		}
		if err := lines.Encode(o); err != nil {
			return err
		}
	}
	return nil
}

func explored(c tla.Configuration) (*Output, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	check, err := bounded.NewCheck(c.Mirror, config)
	if err != nil {
		return nil, err
	}
	if c.Expect == "ok" {
		check.CheckAlways()
	}
	check.Options.Edges = true
	r := explore.Explore(check.Module, check.Options)
	o := &Output{Configuration: c.Name, Branches: map[string][]int{}, Actions: map[string]int{}, States: r.States, Edges: r.Edges}
	labels := check.Module.Labels()
	for _, label := range labels {
		o.Actions[actionOf(label)] = 0
	}
	for from := range r.Graph.States() {
		for _, e := range r.Graph.From(from) {
			o.Actions[actionOf(labels[e.Label])]++
		}
	}
	for pkg, list := range taken {
		o.Branches[pkg] = list()
	}
	return o, nil
}

// actionOf is the name of a label's action.
func actionOf(label string) string {
	action, _, _ := strings.Cut(label, "(")
	return action
}
