package induction

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"gaugeblock/model"
)

// Result is the result of a check.
type Result struct {
	States int   // that satisfy the conjunction
	Steps  int   // from these states
	Step   *Step // the first that breaks the conjunction; nil: it is inductive
}

// A Step leads from a state that satisfies the conjunction to one that breaks it.
type Step struct {
	From, To string // as TLA+
	Label    string
	Broken   string // the invariant that does not hold afterwards
}

func (s *Step) String() string {
	return fmt.Sprintf("from\n%s\n%s leads to\n%s\nwhich breaks %s", indent(s.From), s.Label, indent(s.To), s.Broken)
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// Check takes all steps from all states of the universe, with a number of workers.
func (u *Universe) Check(workers int) Result {
	layouts := u.layouts()
	var next, states, steps atomic.Int64
	var all sync.WaitGroup
	var lock sync.Mutex
	r := Result{}
	first := len(layouts) // the layout of r.Step: the lowest, whoever finds it first
	for range max(1, workers) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(layouts); i = int(next.Add(1)) - 1 {
				u.eachQueue(layouts[i], func(s *model.State) {
					states.Add(1)
					n, found := u.stepsFrom(s, u.all)
					steps.Add(int64(n))
					lock.Lock()
					if found != nil && i < first {
						r.Step, first = found, i
					}
					lock.Unlock()
				})
			}
		})
	}
	all.Wait()
	r.States, r.Steps = int(states.Load()), int(steps.Load())
	return r
}

// stepsFrom takes every step from a state, and returns the first after which one of the
// invariants does not hold.
func (u *Universe) stepsFrom(s *model.State, list []invariant) (steps int, found *Step) {
	u.module.Next(s, func(label int, to *model.State) {
		steps++
		if found != nil {
			return
		}
		if name := broken(list, to); name != "" {
			found = &Step{From: u.text(s), To: u.text(to), Label: u.module.Labels()[label], Broken: name}
		}
	})
	return steps, found
}

func (u *Universe) text(s *model.State) string { return string(u.module.Text(nil, s)) }
