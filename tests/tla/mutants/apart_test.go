package mutants

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaugeblock/internal/rewrite"
	"gaugeblock/model/abstract/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/tests/tla/alone"
	"gaugeblock/tla"
)

// A property that is changed (tests/mutants -apart) must be told apart from the right one: at a step with a
// mistake in the model that it does not find, or at one of the right model where it fails. All changes are in
// one build, and each is asked at each step.

const (
	apartVariable = "GAUGEBLOCK_APART" // a mistake, or a configuration; "list": print these
	toldVariable  = "GAUGEBLOCK_TOLD"  // a file with the numbers of the changes that need not be asked
)

// mostStates is how many states of a configuration are looked at.
const mostStates = 4_000

// activate makes the calls that follow those of a change, and reached are the changes that were called since
// it was asked: a file of the build with all changes sets both.
var (
	activate func(number int)
	reached  func() []int
)

// runApart asks the changes in a configuration.
func runApart(what string) error {
	list, err := readAll()
	if err != nil {
		return err
	}
	if what == "list" {
		for _, m := range list {
			fmt.Println("mistake " + m.name)
		}
		for _, text := range configurationsOfAlone() {
			fmt.Println("configuration " + text)
		}
		return nil
	}
	kind, name, _ := strings.Cut(what, " ")
	if activate(0); kind == "mutant" { // of the model, by its number in the build
		_, name, _ = strings.Cut(name, " ")
	}
	a := &apartness{right: kind == "configuration", told: map[int]bool{}, of: map[string]*asked{}}
	if err := a.read(os.Getenv(toldVariable)); err != nil {
		return err
	}
	check, err := a.open(list, kind, name)
	if err != nil {
		return err
	}
	go a.watch()
	explore.Explore(check.Module, a.options(check.Options))
	return nil
}

func configurationsOfAlone() (all []string) {
	lists := reflect.ValueOf(alone.Configurations)
	for i := range lists.NumField() {
		all = append(all, lists.Field(i).Interface().([]string)...)
	}
	return all
}

// apartness is what is known of the changes.
type apartness struct {
	right bool // there is no mistake in the model
	told  map[int]bool
	of    map[string]*asked

	mutex  sync.Mutex
	asking int // the change that is asked
	since  time.Time
}

// asked are the changes that a property calls.
type asked struct {
	times   int
	changes map[int]bool
}

func (a *apartness) read(file string) error {
	text, err := os.ReadFile(file)
	for _, number := range strings.Fields(string(text)) {
		n, wrong := strconv.Atoi(number)
		if wrong != nil {
			return wrong
		}
		a.told[n] = true
	}
	return err
}

func (a *apartness) open(list []mutant, kind, name string) (*bounded.Check, error) {
	if kind != "mistake" {
		return alone.Open(name)
	}
	for i := range list {
		if list[i].name != name {
			continue
		}
		text, err := list[i].config()
		if err != nil {
			return nil, err
		}
		config, err := tla.ReadConfig([]byte(text), name+".cfg")
		if err != nil {
			return nil, err
		}
		config.Properties = slices.DeleteFunc(config.Properties, func(name string) bool { return name == refinement.IsAbstractMemory })
		check, err := bounded.NewCheck(modules[list[i].module].mirror, config)
		if err == nil {
			check.CheckAlways()
		}
		return check, err
	}
	return nil, fmt.Errorf("there is no mistake %q", name)
}

// options has the properties asked with each change, and none fails.
func (a *apartness) options(o explore.Options[*bounded.State]) explore.Options[*bounded.State] {
	states := 0
	to := explore.Options[*bounded.State]{
		Workers:  1,
		Progress: func(r explore.Result[*bounded.State]) { states = r.States },
		Stopped:  func() bool { return states > mostStates },
	}
	for _, p := range o.Invariants {
		if p.ByConstruction == "" {
			to.Invariants = append(to.Invariants, explore.Invariant[*bounded.State]{Name: p.Name, Holds: func(s *bounded.State) bool {
				a.ask(p.Name, func() bool { return p.Holds(s) })
				return true
			}})
		}
	}
	for _, p := range o.Steps {
		to.Steps = append(to.Steps, explore.StepProperty[*bounded.State]{Name: p.Name, Holds: func(from *bounded.State, label int, next *bounded.State) bool {
			a.ask(p.Name, func() bool { return p.Holds(from, label, next) })
			return true
		}})
	}
	return to
}

// ask asks a property, and all changes of what it calls that are not told apart yet.
func (a *apartness) ask(property string, holds func() bool) {
	if a.of[property] == nil {
		a.of[property] = &asked{changes: map[int]bool{}}
	}
	of := a.of[property]
	right := a.answer(0, holds)
	if of.times++; of.times < 500 || of.times%16 == 0 {
		reached()
		a.answer(rewrite.Same, holds)
		for _, number := range reached() {
			if !of.changes[number] {
				fmt.Println("called", number)
			}
			of.changes[number] = true
		}
	}
	for number := range of.changes {
		if a.told[number] {
			delete(of.changes, number)
			continue
		}
		is := a.answer(number, holds)
		how := ""
		switch {
		case is == right:
		case a.right && right:
			how = "fails"
		case !a.right && is:
			how = "misses"
		default:
			how = "stronger"
		}
		if how != "" {
			fmt.Println(how, number, property)
		}
		if how == "fails" || how == "misses" {
			a.told[number] = true
		}
	}
	activate(0)
}

// answer is what a property says with a change. In a panic it fails.
func (a *apartness) answer(number int, holds func() bool) (is bool) {
	a.mutex.Lock()
	a.asking, a.since = number, time.Now()
	a.mutex.Unlock()
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	activate(number)
	return holds()
}

// watch ends the process when a change does not end.
func (a *apartness) watch() {
	for {
		time.Sleep(100 * time.Millisecond)
		a.mutex.Lock()
		number, since := a.asking, a.since
		a.mutex.Unlock()
		if number > 0 && time.Since(since) > 2*time.Second {
			fmt.Println("fails", number, "(does not end)")
			os.Exit(2)
		}
	}
}

// TestAsk: a change that misses a mistake is told, and one that fails where the property holds in the right model,
// or panics; not one that is as good, or stronger.
func TestAsk(t *testing.T) {
	active := 0
	activate, reached = func(number int) { active = number }, func() []int { return []int{1, 2, 3, 4} }
	defer func() { activate, reached = nil, nil }()
	for _, right := range []bool{true, false} {
		a := &apartness{right: right, told: map[int]bool{}, of: map[string]*asked{}}
		for step := range 4 { // the property fails at odd steps, unless the model is right
			a.ask("P", func() bool {
				is := right || step%2 == 0
				switch active {
				case 2: // misses
					return true
				case 3: // stronger
					return is && step == 0
				case 4:
					panic("no")
				}
				return is
			})
		}
		for number, want := range []bool{1: false, 2: !right, 3: right, 4: right} {
			if a.told[number] != want {
				t.Errorf("right model %v: change %d is told: %v", right, number, a.told[number])
			}
		}
		if active != 0 {
			t.Error("a change stays active")
		}
	}
}
