package tla

import (
	"regexp"
	"strings"
	"testing"

	"gaugeblock/model/bounded"
)

// ruleValues are small configurations that differ in one rule of PyTorch's releases alone, one for
// each of its values.
var ruleValues = map[string][]string{
	"Ties":                     {"ties", "ties_block", "ties_segment"},
	"Captures":                 {"used_pools", "used_pools_mark"},
	"PoolEndCompletesDeferred": {"pools_tiny", "pool_end"},
	"UseOnOOMLast":             {"overflow_first", "overflow_last"},
	"UseOnOOMExpandable":       {"pools_pages", "overflow_pages"},
	"FirstRoutingWins":         {"two_routings", "first_routing"},
	"RestoreRefusesGrown":      {"checkpoint_again", "checkpoint_grown"},
	"LimitRounded":             {"limit_truncated", "limit_rounded"},
}

// TestRulesHaveStates: for each value of a rule there is a program after which the state is one that
// the program leads to with no other value. The numbers by which ties are broken do not count.
func TestRulesHaveStates(t *testing.T) {
	for rule, names := range ruleValues {
		t.Run(rule, func(t *testing.T) {
			programs := ownStates(modulesOf(t, names))
			for i, name := range names {
				if t.Logf("%s: %s", name, programs[i]); programs[i] == "" {
					t.Errorf("%s leads every program to a state that another value leads it to", name)
				}
			}
		})
	}
}

func modulesOf(t *testing.T, names []string) (modules []bounded.Module) {
	for _, name := range names {
		for _, c := range configurations(t) {
			if c.Name == name {
				modules = append(modules, open(t, c).Module)
			}
		}
	}
	if len(modules) != len(names) {
		t.Fatalf("%d configurations are called %s", len(modules), names)
	}
	return modules
}

// a beside is the states that one program leads several modules to.
type beside struct {
	states  []*bounded.State
	program string
}

// ownStates are the shortest programs after which a module is in a state in which none of the others
// is; "" if there is none. The modules have the same labels. A program ends where two of its states
// differ.
func ownStates(modules []bounded.Module) []string {
	programs, left := make([]string, len(modules)), len(modules)
	initial := beside{}
	for _, m := range modules {
		initial.states = append(initial.states, m.Initial()[0])
	}
	known := map[string]bool{}
	for queue := []beside{initial}; len(queue) > 0 && left > 0; queue = queue[1:] {
		for _, next := range stepsBeside(modules, queue[0]) {
			texts := textsOf(modules, next.states)
			for i := range modules {
				if programs[i] == "" && isAlone(texts, i) {
					programs[i] = next.program
					left--
				}
			}
			key := ""
			for i, m := range modules {
				key += string(m.Key(nil, next.states[i])) + "|"
			}
			if allSame(texts) && !known[key] {
				known[key] = true
				queue = append(queue, next)
			}
		}
	}
	return programs
}

// stepsBeside are the steps that some module has. For the others it is a call that is refused, and
// changes nothing.
func stepsBeside(modules []bounded.Module, from beside) (list []beside) {
	all := make([]map[string]*bounded.State, len(modules))
	for i, m := range modules {
		all[i] = bounded.Successors(m, from.states[i])
	}
	for _, label := range modules[0].Labels() {
		next := beside{program: strings.TrimPrefix(from.program+" "+label, " ")}
		can := false
		for i := range modules {
			s := all[i][label]
			if can = can || s != nil; s == nil {
				s = from.states[i]
			}
			next.states = append(next.states, s)
		}
		if can {
			list = append(list, next)
		}
	}
	return list
}

var madeNumber = regexp.MustCompile(`,made\|->\d+`)

func textsOf(modules []bounded.Module, states []*bounded.State) (texts []string) {
	for i, m := range modules {
		texts = append(texts, madeNumber.ReplaceAllString(string(m.Text(nil, states[i])), ""))
	}
	return texts
}

// isAlone reports whether no other text is the i-th one.
func isAlone(texts []string, i int) bool {
	for j, other := range texts {
		if j != i && other == texts[i] {
			return false
		}
	}
	return true
}

func allSame(texts []string) bool {
	for _, text := range texts {
		if text != texts[0] {
			return false
		}
	}
	return true
}
