package linearizability

import (
	"errors"
	"slices"
)

// Explored is the result of running all schedules of a program.
type Explored struct {
	Schedules int
	Histories int             // distinct histories, each of which was checked
	Refused   int             // histories that are not linearizable
	First     *Counterexample // the first of them, nil if there is none

	// Results lists the results of the threads' operations in all schedules.
	Results []OpResults
}

// OpResults lists the results of an operation, in order of first appearance.
type OpResults struct {
	Thread  int
	Op      string
	Results []string
}

// Explore runs all schedules of a program and checks their histories. The error is
// one of setting up.
func Explore(s Setup, p Program) (Explored, error) {
	x := Explored{Results: p.results()}
	seen := map[string]bool{}
	policy := &Exhaustive{}
	for more := true; more; more = policy.Next() {
		h, err := Run(s, p, policy)
		if err != nil {
			return x, err
		}
		x.Schedules++
		if key := h.key(); !seen[key] {
			seen[key] = true
			if err := x.add(h); err != nil {
				return x, err
			}
		}
	}
	return x, nil
}

// add checks a new history and adds its results.
func (x *Explored) add(h *History) error {
	x.Histories++
	for i := range h.Calls {
		x.addResult(&h.Calls[i])
	}
	err := Check(h)
	var found *Counterexample
	if !errors.As(err, &found) {
		return err
	}
	x.Refused++
	if x.First == nil {
		x.First = found
	}
	return nil
}

// results lists a program's operations, with no results yet. Equal operations of a thread are
// one.
func (p Program) results() (list []OpResults) {
	for thread, ops := range p.Threads {
		for _, op := range ops {
			r := OpResults{Thread: thread, Op: op.String()}
			if !slices.ContainsFunc(list, r.same) {
				list = append(list, r)
			}
		}
	}
	return list
}

func (r OpResults) same(o OpResults) bool { return r.Thread == o.Thread && r.Op == o.Op }

// addResult adds a call's result, unless the call is a callback's.
func (x *Explored) addResult(c *Call) {
	i := slices.IndexFunc(x.Results, OpResults{Thread: c.Thread, Op: c.Text}.same)
	if i >= 0 && !slices.Contains(x.Results[i].Results, c.result()) {
		x.Results[i].Results = append(x.Results[i].Results, c.result())
	}
}
