package torch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gaugeblock/internal/refinement"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec"
	"gaugeblock/tla"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/edges"
	"gaugeblock/upstream"
)

// Every edge of the graphs that TLC and the model explore (tla/configurations.json), on both
// allocators. The configuration's rules are those of the release (bounded.SetRules). Walks that take all
// edges of a configuration (edges.Planner) are performed
//
//   - by the reference on the configuration's own device. After the first time that an edge is
//     taken it must be in the model's next state (refinement.System);
//   - by the reference and by PyTorch's allocator with PyTorch's sizes (edges.Scale), each on a
//     device of its own. After every operation both must have done the same: see Pair. If the scale
//     is exact, what PyTorch's snapshot shows after the first time that an edge is taken must be the
//     memory of the model's next state.

// EdgeRun says which configurations are walked through.
type EdgeRun struct {
	PyTorch binary.Options // that has been built
	Workers int            // processes; 0 means 1
	Length  int            // steps of a walk at most; 0 means 4,000
	Every   int            // operations between two comparisons of all memory; 0 means 20

	// Progress, if given, hears how many edges have been taken.
	Progress func(taken int)
	// Stopped, if given, says that nothing more is to be done.
	Stopped func() bool

	scale *edges.Scale // instead of the configuration's
}

// LeavesOut is why a configuration has no walk for the release; "" if it has.
func (r EdgeRun) LeavesOut(c tla.Configuration) string {
	scale, rules := edges.Find(c.Name), r.PyTorch.Release().Rules
	if scale != nil {
		if _, err := rules.Settings.Parse(scale.Settings, spec.DefaultGeometry()); err != nil {
			return "its sizes need settings that this release refuses: " + err.Error()
		}
	}
	if scale != nil && scale.Marks && rules.Captures == upstream.CapturesByRouting {
		return "it is about marks of captures, at which this release does not look"
	}
	if c.Name == "oversize_forbidden" && rules.Captures == upstream.CapturesByMark {
		return "a thread beside a capture frees memory that it uses, and what comes of the event in it is not specified"
	}
	return ""
}

// EdgeReport is what came of one configuration.
type EdgeReport struct {
	Configuration string         `json:"configuration"`
	States        int            `json:"states"`
	Edges         int            `json:"edges"`
	Taken         int            `json:"taken"`             // edges that were performed, by all three
	Inexact       string         `json:"inexact,omitempty"` // why the states cannot be the same
	Walks         int            `json:"walks"`
	Steps         int            `json:"steps"`
	Operations    int            `json:"operations"`
	Otherwise     int            `json:"otherwise,omitempty"` // walks that ended since an operation ended otherwise than in the specification
	Seconds       float64        `json:"seconds"`
	WorkerSeconds float64        `json:"worker_seconds"` // processor time of the processes with PyTorch's allocator
	Listed        map[string]int `json:"listed"`         // differences by the ID of the deviation
	// NotTaken counts the edges that were not taken, by the rows of the differences that all ways
	// to them lead through, or at which the last walks to them ended; "" if it is not known.
	NotTaken    map[string]int `json:"not_taken,omitempty"`
	Unexplained []EdgeFinding  `json:"unexplained,omitempty"`
}

// Rows lists the deviations that were met, with how often.
func (r *EdgeReport) Rows() []string { return rowsMet(r.Listed) }

// EdgeFinding is a difference that no row explains.
type EdgeFinding struct {
	What   string   `json:"what"`
	Labels []string `json:"labels"` // of the walk up to the difference
}

// EdgeConfigurations lists the configurations that can be walked through. Of those with the same
// constants, and hence the same graph, it has the first.
func EdgeConfigurations() ([]tla.Configuration, error) {
	all, err := tla.Configurations()
	if err != nil {
		return nil, err
	}
	var list []tla.Configuration
	seen := map[string]bool{}
	for _, c := range all {
		if c.Mirror == "" || c.Expect != "ok" || edges.NotDriven[c.Name] != "" {
			continue
		}
		config, err := c.Config()
		if err != nil {
			return nil, err
		}
		constants := c.Mirror
		for _, name := range config.Names() {
			value, err := config.Value(name)
			if err != nil {
				return nil, err
			}
			constants += fmt.Sprintf(" %s=%s", name, value)
		}
		if !seen[constants] {
			seen[constants] = true
			list = append(list, c)
		}
	}
	return list, nil
}

// edgeRun is a configuration under way.
type edgeRun struct {
	EdgeRun
	release upstream.Release
	config  *tlc.Config // with the rules of the release
	module  bounded.Module

	known  []atomic.Pointer[known] // by state, as far as a walk has met them
	labels []string

	mu       sync.Mutex
	ended    sync.Cond // a walk
	underway int       // walks
	planner  *edges.Planner
	length   int // of the next walk
	report   EdgeReport
	failed   error
}

// known is a state of the model.
type known struct {
	*bounded.State
	layout uint64 // a hash of its memory
}

// Run walks through a configuration. The error is one of the run itself, or says that the reference
// is not in the model's next state.
func (e EdgeRun) Run(c tla.Configuration) (EdgeReport, error) {
	began := time.Now()
	e.Workers, e.Length, e.Every = cmp.Or(e.Workers, 1), cmp.Or(e.Length, 4000), cmp.Or(e.Every, 20)
	r := &edgeRun{EdgeRun: e, length: e.Length}
	if r.scale == nil {
		r.scale = edges.Find(c.Name)
	}
	if r.scale == nil {
		return r.report, fmt.Errorf("there is no scale for the configuration %q", c.Name)
	}
	if err := r.open(c); err != nil {
		return r.report, err
	}
	var all sync.WaitGroup
	for range r.Workers {
		all.Go(r.work)
	}
	all.Wait()
	r.report.Taken, r.report.NotTaken = r.planner.Taken, r.planner.Unreached()
	r.report.Seconds = time.Since(began).Seconds()
	return r.report, r.failed
}

// open explores the configuration.
func (r *edgeRun) open(c tla.Configuration) (err error) {
	if r.config, err = c.Config(); err != nil {
		return err
	}
	r.release = r.PyTorch.Release()
	if err = bounded.SetRules(r.config, r.release.Rules); err != nil {
		return err
	}
	check, err := bounded.NewCheck(c.Mirror, r.config)
	if err != nil {
		return err
	}
	r.module = check.Module
	explored := explore.Explore(r.module, explore.Options[*bounded.State]{Edges: true, Workers: r.Workers})
	r.labels = r.module.Labels()
	r.planner = edges.NewPlanner(explored.Graph, final(r.labels))
	r.known = make([]atomic.Pointer[known], explored.States)
	r.known[0].Store(&known{State: r.module.Initial()[0]})
	r.ended.L = &r.mu
	r.report = EdgeReport{
		Configuration: c.Name, States: explored.States, Edges: explored.Edges, Inexact: r.scale.Inexact, Listed: map[string]int{},
	}
	return nil
}

// work lets one process work until every edge is taken.
func (r *edgeRun) work() {
	w, err := startWorker(r.PyTorch)
	if err != nil {
		r.fail(err)
		return
	}
	for steps := r.plan(); steps != nil; steps = r.plan() {
		walk, err := r.write(steps)
		if err == nil {
			err = r.perform(w, walk)
		}
		if err != nil {
			r.fail(err)
		}
		r.end()
	}
	if err := w.stop(); err != nil {
		r.fail(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.WorkerSeconds += w.used.Seconds()
}

func (r *edgeRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// plan plans a walk; nil if nothing is left to do. What is left may depend on how the walks end
// that others perform.
func (r *edgeRun) plan() []edges.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.failed == nil && !(r.Stopped != nil && r.Stopped()) {
		if steps := r.planner.Walk(r.length); len(steps) > 0 {
			r.underway++
			return steps
		}
		if r.underway > 0 {
			r.ended.Wait()
		} else if !r.planner.Retry() {
			break
		}
	}
	return nil
}

// end says that a walk was performed.
func (r *edgeRun) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underway--
	r.ended.Broadcast()
}

// edgeWalk is a walk, with what it is for those who perform it.
type edgeWalk struct {
	steps  []edges.Step
	states []*bounded.State // before each step, and after the last
	ends   []int            // by step: how many operations it ends with
	job    job
}

// write writes a walk as operations.
func (r *edgeRun) write(steps []edges.Step) (*edgeWalk, error) {
	w := &edgeWalk{steps: steps}
	tracer := r.module.Tracer(r.scale.Name)
	streams := streamsInOrder(len(tracer.Header.Streams) - 1)
	captures, written := r.scale.NewCaptures(), len(tracer.Ops) // the configuration's limit, if it has one
	captures.Add(r.scale.WholeLimit())
	from := r.known[0].Load()
	w.states = append(w.states, from.State)
	w.job = job{Scale: r.scale.Name, Conditions: Conditions{Every: r.Every}}
	for _, step := range w.steps {
		label := r.labels[step.Label]
		to := r.known[step.To].Load()
		if to == nil {
			to = &known{State: bounded.Successor(r.module, from.State, label)}
			to.layout = edges.Layout{}.Of(to.State).Hash()
			r.known[step.To].Store(to)
		}
		if err := tracer.Step(from.State, label, to.State); err != nil {
			return nil, err
		}
		limit, err := r.scale.Limit(from.State, tracer.Ops[written:])
		if err != nil {
			return nil, err
		}
		captures.Add(limit)
		captures.Add(tracer.Ops[written:])
		written = len(tracer.Ops)
		w.states = append(w.states, to.State)
		w.ends = append(w.ends, len(captures.Ops))
		w.job.Layouts = append(w.job.Layouts, make([]uint64, len(captures.Ops)-len(w.job.Layouts))...)
		if r.scale.Exact() && step.New {
			w.job.Layouts[len(captures.Ops)-1] = to.layout
		}
		from = to
	}
	w.job.Ops = captures.Ops
	for i := range w.job.Ops {
		if err := r.scale.Operation(&w.job.Ops[i]); err != nil {
			return nil, err
		}
	}
	w.job.Header = r.scale.Header(tracer.Header, streams)
	w.job.Header.Release = r.release.Name
	return w, nil
}

// perform performs a walk: on the reference with the configuration's sizes, and meanwhile in a
// worker on both allocators with PyTorch's.
func (r *edgeRun) perform(w *worker, walk *edgeWalk) error {
	followed := make(chan error, 1)
	go func() { followed <- r.follow(walk) }()
	reply, crash, err := w.do(&walk.job)
	if ours := <-followed; ours != nil {
		return ours
	}
	if err != nil {
		return err
	}
	if crash != nil {
		o := Outcome{
			Header: walk.job.Header, Scale: r.scale.Name, Ops: walk.job.Ops[:crash.Operation], Difference: crash.difference(), Every: r.Every,
		}
		if o.Row, err = explain(&o); err != nil {
			return err
		}
		reply.Operations, reply.Outcomes = crash.Operation, []Outcome{o}
	}
	r.count(walk, &reply)
	return nil
}

// follow performs a walk on the reference with the sizes of the configuration.
func (r *edgeRun) follow(walk *edgeWalk) error {
	sys, err := refinement.NewSystem(r.known[0].Load().State, r.config)
	if err != nil {
		return err
	}
	defer sys.End()
	for i, step := range walk.steps {
		label := r.labels[step.Label]
		if !step.New {
			err = sys.Take(walk.states[i], label, walk.states[i+1])
		} else {
			err = sys.Follow(r.module, walk.states[i], label, walk.states[i+1])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// otherwise is why a walk ends at an operation that ends otherwise than in the specification. That
// can only be where the scale is not exact. The two allocators have done the same.
const otherwise = "an operation ends otherwise than in the specification"

// failed is why a walk ends at a step in which a driver call fails. Mostly PyTorch is not in the
// specification's next state then, even if that does not show yet (tla/upstream).
const failed = "a driver call has failed"

func isFinal(label string) bool {
	return strings.HasPrefix(label, "Failed") || strings.HasPrefix(label, "Refused")
}

// final says by label where walks end.
func final(labels []string) (ends []bool) {
	for _, label := range labels {
		ends = append(ends, isFinal(label))
	}
	return ends
}

// count adds what came of a walk to the report. If the walk has ended early, what it had still to
// take is left to other walks.
func (r *edgeRun) count(walk *edgeWalk, reply *reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Walks++
	r.report.Operations += reply.Operations
	for row, n := range reply.Listed {
		r.report.Listed[row] += n
	}
	performed := len(walk.steps)
	switch {
	case reply.Otherwise > 0:
		r.report.Otherwise++
		performed = r.ends(walk, reply.Otherwise, otherwise)
		if r.scale.Exact() {
			r.report.Unexplained = append(r.report.Unexplained, EdgeFinding{otherwise, r.labelsOf(walk.steps[:performed])})
		}
	case len(reply.Outcomes) > 0:
		o := &reply.Outcomes[0]
		performed = r.ends(walk, o.Difference.Operation, cmp.Or(o.Row, "unexplained"))
		if o.Row != "" {
			r.report.Listed[o.Row]++
		} else {
			r.report.Unexplained = append(r.report.Unexplained, EdgeFinding{o.Difference.Error(), r.labelsOf(walk.steps[:performed])})
		}
	case isFinal(r.labels[walk.steps[performed-1].Label]):
		r.planner.Passed(walk.steps, performed-1)
		r.planner.Resume(walk.steps, performed, failed)
	default:
		r.planner.Passed(walk.steps, performed)
	}
	r.report.Steps += performed
	if performed < len(walk.steps) {
		r.length = max(1, performed/2) // more of a walk would be in vain where differences are frequent
	} else {
		r.length = min(r.length+r.length/2+1, r.Length)
	}
	if r.Progress != nil {
		r.Progress(r.planner.Taken)
	}
}

// ends ends a walk at an operation, and says how many steps were performed.
func (r *edgeRun) ends(walk *edgeWalk, operation int, why string) (performed int) {
	step, _ := slices.BinarySearch(walk.ends, operation)
	r.planner.Passed(walk.steps, step)
	r.planner.Resume(walk.steps, step+1, why)
	return step + 1
}

func (r *edgeRun) labelsOf(steps []edges.Step) (labels []string) {
	for _, s := range steps {
		labels = append(labels, r.labels[s.Label])
	}
	return labels
}
