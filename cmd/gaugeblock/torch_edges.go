package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/dustin/go-humanize"

	"gaugeblock/internal/similar"
	"gaugeblock/tla"
	"gaugeblock/tools/torch"
	"gaugeblock/tools/torch/binary"
)

// runEdges is "gaugeblock torch --edges": one configuration after the other, with a line of
// output when it is done. listens is set when Ctrl-C ends it, and not the process.
func (c *compareCommand) runEdges(env *environment, pytorch binary.Options, listens *atomic.Bool) error {
	list, err := c.edgeConfigurations()
	if err != nil {
		return err
	}
	stopped, end := interruptible()
	defer end()
	listens.Store(true)
	out := &checkedWriter{to: env.stdout}
	var all edgesTaken
	for _, configuration := range list {
		if stopped() || out.err != nil {
			break
		}
		run := torch.EdgeRun{PyTorch: pytorch, Workers: c.Jobs, Stopped: stopped}
		if why := run.LeavesOut(configuration); why != "" {
			fmt.Fprintf(env.stderr, "%s is left out: %s\n", configuration.Name, why)
			continue
		}
		bar := newProgress(env.stderr, edgesOf(configuration.Name), c.JSON)
		bar.counting = configuration.Name + ": %d of %d edges"
		run.Progress = bar.set
		report, err := run.Run(configuration)
		bar.finish()
		if err != nil {
			return fmt.Errorf("%s: %w", configuration.Name, err)
		}
		all.add(&report)
		c.tellEdges(out, &report, stopped())
	}
	env.status = all.status(stopped())
	if !c.JSON {
		fmt.Fprintln(out, all)
	}
	return out.err
}

// edgesOf is how many edges TLC has counted; 0: it has not.
func edgesOf(configuration string) int {
	if m, err := tla.ReadManifest(configuration); err == nil && m != nil {
		return m.Edges
	}
	return 0
}

// tellEdges prints what came of one configuration.
func (c *compareCommand) tellEdges(out *checkedWriter, r *torch.EdgeReport, stopped bool) {
	if c.JSON {
		printJSON(out, r)
		return
	}
	printEdges(out, r, stopped)
}

// edgesTaken is what came of the configurations so far.
type edgesTaken struct {
	taken, all, unexplained int
	unknown                 int // edges that are not taken, and it is not known why
}

func (e *edgesTaken) add(r *torch.EdgeReport) {
	e.taken, e.all, e.unexplained, e.unknown = e.taken+r.Taken, e.all+r.Edges, e.unexplained+len(r.Unexplained), e.unknown+r.NotTaken[""]
}

// status is the exit status. ended: by Ctrl-C, after which no walk takes what is left.
func (e edgesTaken) status(ended bool) int {
	switch {
	case e.unexplained > 0 || e.unknown > 0 && !ended:
		return statusDiffers
	case ended:
		return statusInterrupted
	}
	return statusExact
}

func (e edgesTaken) String() string {
	return fmt.Sprintf("%d of %d edges taken, %d differences unexplained", e.taken, e.all, e.unexplained)
}

// edgeConfigurations are those of the command line; all, if it names none.
func (c *compareCommand) edgeConfigurations() ([]tla.Configuration, error) {
	list, err := torch.EdgeConfigurations()
	if err != nil || len(c.Config) == 0 {
		return list, err
	}
	chosen, unknown := tla.Named(list, c.Config)
	if unknown != "" {
		return nil, fmt.Errorf("there is no configuration %q whose steps can be taken%s", unknown, similar.Question(unknown, configurationNames(list)))
	}
	return chosen, nil
}

func printEdges(w io.Writer, r *torch.EdgeReport, stopped bool) {
	count := func(n int) string { return humanize.Comma(int64(n)) }
	fmt.Fprintf(w, "%s: %s states, %s of %s edges, %s operations in %s walks, %.0f s\n", r.Configuration,
		count(r.States), count(r.Taken), count(r.Edges), count(r.Operations), count(r.Walks), r.Seconds)
	if r.Inexact != "" {
		fmt.Fprintf(w, "  the states are not the same: %s; %s walks ended at an operation that ends otherwise\n", r.Inexact, count(r.Otherwise))
	}
	for _, row := range r.Rows() {
		fmt.Fprintln(w, row)
	}
	for _, why := range slices.Sorted(maps.Keys(r.NotTaken)) {
		if why == "" && stopped {
			fmt.Fprintf(w, "%8d  edges not taken before the end\n", r.NotTaken[why])
			continue
		}
		fmt.Fprintf(w, "%8d  edges not taken: the walks to them end at: %s\n", r.NotTaken[why], cmp.Or(why, "it is not known what"))
	}
	for _, f := range r.Unexplained {
		fmt.Fprintf(w, "  unexplained: %s, after %d steps:\n", f.What, len(f.Labels))
		for _, label := range f.Labels {
			fmt.Fprintf(w, "    %s\n", label)
		}
	}
}
