package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"gaugeblock/internal/memlimit"
	"gaugeblock/internal/similar"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tla"
)

// exploreCommand is "gaugeblock explore".
type exploreCommand struct {
	Configs  []string `arg:"" optional:"" name:"config" help:"Configurations by name (default: the small ones in which no violation is expected)."`
	Jobs     int      `name:"jobs" short:"j" aliases:"workers" placeholder:"N" help:"Explore with N workers (default: as many as there are processors)."`
	Symmetry bool     `name:"symmetry" help:"Count states that differ only in the names of streams as one."`
	Compact  bool     `name:"compact" help:"Remember fingerprints of states, of 74 bits, instead of the states."`
	Set      []string `name:"set" sep:"none" placeholder:"NAME=VALUE" help:"Explore other bounds: a constant of the specification with another value, such as Memory=8 or Sizes={1,2}; may be given several times."`
	JSON     bool     `name:"json" help:"Print a JSON object for each configuration."`

	Dir        string        `name:"dir" placeholder:"DIR" help:"Keep the states in files below this directory, with checkpoints, and only fingerprints in memory. An exploration that has ended early goes on from there."`
	MaxMemory  memorySize    `name:"max-memory" placeholder:"SIZE" help:"End when this much memory is not enough, such as 4GiB (default: no limit)."`
	Checkpoint time.Duration `name:"checkpoint" default:"1m" placeholder:"TIME" help:"The time between two checkpoints (default: 1m)."`
}

// Help is what "gaugeblock explore --help" prints beside the flags.
func (*exploreCommand) Help() string {
	var text strings.Builder
	text.WriteString(`The model of the allocator is explored at small bounds: every reachable state and every
step. The configurations are those of the TLA+ specification, which has the same states
and edges. The properties that are checked are listed, and apart from them those that
no state of the model can break, with the reason.

A violation is printed with a shortest counterexample, as a trace that "gaugeblock
replay" takes. Ctrl-C ends the exploration and prints what was explored. The exit status
is 0 when there is no violation, 1 when there is one, 2 when the command line made no
sense, 3 when the memory or the disk did not suffice, 130 after Ctrl-C or
SIGTERM. Some configurations show what upstream could do better: there a violation is expected.

--set explores larger bounds than TLC can. The states of these are best kept in a
directory (--dir): each configuration has a folder there, and an exploration that ended
with status 3 or 130, or was killed, goes on when the same command is given again. With
--dir or --compact two states are taken for one with a small probability, which is
printed.

Configurations:`)
	list, err := tla.Configurations()
	if err != nil {
		return err.Error()
	}
	for _, c := range list {
		if c.Mirror == "" {
			continue
		}
		fmt.Fprintf(&text, "\n  %-20s %s", c.Name, c.Bounds)
		if c.Size == "large" {
			text.WriteString(" (large)")
		}
		if c.Expect != "ok" {
			fmt.Fprintf(&text, " (breaks %s)", c.Expect)
		}
	}
	return text.String()
}

// Validate is called by kong.
func (c *exploreCommand) Validate() error {
	if c.Checkpoint < 0 {
		return fmt.Errorf("--checkpoint=%v is negative", c.Checkpoint)
	}
	return checkJobs(c.Jobs, 0)
}

// mostJobs is more than any machine has processors.
const mostJobs = 4096

// checkJobs checks the flag --jobs.
func checkJobs(n, least int) error {
	switch {
	case n < 0:
		return fmt.Errorf("--jobs=%d is negative", n)
	case n < least:
		return fmt.Errorf("--jobs=%d: at least one is needed", n)
	case n > mostJobs:
		return fmt.Errorf("--jobs=%d is more than %d", n, mostJobs)
	}
	return nil
}

// explored is the result of one configuration.
type explored struct {
	Config    string      `json:"config"`
	Set       []string    `json:"set,omitempty"` // the flags --set
	Symmetry  bool        `json:"symmetry,omitempty"`
	States    int         `json:"states"`
	Edges     int         `json:"edges"`
	Generated int         `json:"generated"`
	Depth     int         `json:"depth"`
	StateSum  explore.Sum `json:"state_sum"`
	EdgeSum   explore.Sum `json:"edge_sum"`
	Seconds   float64     `json:"seconds"` // of this process
	OK        bool        `json:"ok"`
	// with Ctrl-C or SIGTERM, before all states were explored
	Stopped bool `json:"stopped,omitempty"`

	// Collision bounds the probability that two states were taken for one, if only
	// fingerprints were kept.
	Collision float64 `json:"collision,omitempty"`

	Checked []string `json:"checked"` // properties
	// those that no state of the model can break
	ByConstruction []string `json:"by_construction,omitempty"`
	Violation      string   `json:"violation,omitempty"` // the property that is broken
}

// Run explores one configuration after the other.
func (c *exploreCommand) Run(env *environment) error {
	list, err := c.choose()
	if err != nil {
		return err
	}
	if c.MaxMemory > 0 {
		memlimit.Collect(uint64(c.MaxMemory))
	}
	stopped, end := interruptible()
	defer end()
	out := &checkedWriter{to: env.stdout}
	for _, configuration := range list {
		if stopped() {
			break
		}
		check, err := c.open(configuration)
		if err != nil {
			return err
		}
		found, violation, err := c.explore(env.stderr, configuration, check, stopped)
		if err != nil {
			return err
		}
		c.report(out, found, check)
		if violation == nil {
			continue
		}
		env.status = statusDiffers
		if !c.JSON {
			printViolation(out, configuration.Name, check.Module, violation)
		}
	}
	if stopped() && env.status == statusExact {
		env.status = statusInterrupted
	}
	return out.err
}

func configurationNames(list []tla.Configuration) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// choose finds the configurations of the command line.
func (c *exploreCommand) choose() ([]tla.Configuration, error) {
	list, err := tla.Configurations()
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c tla.Configuration) bool { return c.Mirror == "" })
	if len(c.Configs) == 0 {
		return slices.DeleteFunc(list, func(c tla.Configuration) bool { return c.Size == "large" || c.Expect != "ok" }), nil
	}
	chosen, unknown := tla.Named(list, c.Configs)
	if unknown != "" {
		return nil, fmt.Errorf("there is no configuration %q%s (gaugeblock explore --help lists them)", unknown, similar.Question(unknown, configurationNames(list)))
	}
	return chosen, nil
}

// open reads a configuration, with other bounds if there are flags --set.
func (c *exploreCommand) open(configuration tla.Configuration) (*bounded.Check, error) {
	cfg, err := configuration.Config()
	if err != nil {
		return nil, err
	}
	for _, text := range c.Set {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("--set=%s is not NAME=VALUE", text)
		}
		if err := cfg.Set(name, value); err != nil {
			return nil, fmt.Errorf("--set=%s: %w", text, err)
		}
	}
	check, err := bounded.NewCheck(configuration.Mirror, cfg)
	if err != nil {
		return nil, err
	}
	if configuration.Expect == "ok" {
		check.CheckAlways()
	}
	for _, p := range check.Options.LeadsTo {
		for flag, isSet := range map[string]bool{"--symmetry": c.Symmetry, "--dir": c.Dir != "", "--compact": c.Compact} {
			if isSet {
				return nil, fmt.Errorf("%s: %s does not go with %s, which is about what happens again and again", configuration.Name, flag, p.Name)
			}
		}
	}
	return check, nil
}

// explore explores one configuration. The number of states is known beforehand if TLC has
// counted them.
func (c *exploreCommand) explore(stderr io.Writer, configuration tla.Configuration, check *bounded.Check, stopped func() bool) (explored, *explore.Violation[*bounded.State], error) {
	options := check.Options
	options.Workers, options.Compact, options.Stopped = c.Jobs, c.Compact, stopped
	if c.Symmetry {
		options.Symmetry = check.Module.LeastKey
	}
	expected := 0
	if m, err := tla.ReadManifest(configuration.Name); err == nil && m != nil && len(c.Set) == 0 {
		expected = m.States
	}
	progress := newProgress(stderr, expected, c.JSON)
	progress.counting = configuration.Name + ": %d of %d states"
	options.Progress = func(r explore.Result[*bounded.State]) { progress.set(r.States) }
	started := time.Now()
	r, err := explore.ExploreWith(check.Module, options, c.resources(configuration.Name, check, options))
	progress.finish()
	if err != nil {
		return explored{}, nil, c.explain(configuration.Name, err)
	}
	found := explored{
		Config: configuration.Name, Set: c.Set, Symmetry: c.Symmetry, States: r.States, Edges: r.Edges, Generated: r.Generated, Depth: r.Depth,
		StateSum: r.StateSum, EdgeSum: r.EdgeSum,
		Seconds: time.Since(started).Seconds(), OK: r.Violation == nil && !r.Stopped, Stopped: r.Stopped,
	}
	if c.Compact || c.Dir != "" {
		found.Collision = explore.CollisionProbability(r.States)
	}
	if r.Violation != nil {
		found.Violation = r.Violation.Property
	}
	found.Checked = append(found.Checked, check.Options.Checked()...)
	for _, p := range check.Options.ByConstruction() {
		found.ByConstruction = append(found.ByConstruction, p.Name)
	}
	return found, r.Violation, nil
}

func (c *exploreCommand) report(out *checkedWriter, found explored, check *bounded.Check) {
	if c.JSON {
		printJSON(out, &found)
		return
	}
	verdict := "ok"
	switch {
	case found.Stopped:
		verdict = "stopped before the end, no violation so far"
	case !found.OK:
		verdict = "breaks " + found.Violation
	}
	fmt.Fprintf(out, "%s: %s; %s states, %s edges in %.1f s, %s states/s\n", found.Config, verdict,
		humanize.Comma(int64(found.States)), humanize.Comma(int64(found.Edges)),
		found.Seconds, humanize.Comma(int64(float64(found.States)/found.Seconds)))
	if found.Collision > 0 {
		fmt.Fprintf(out, "  only fingerprints were kept: two states were taken for one with a probability below %.1g\n", found.Collision)
	}
	fmt.Fprintf(out, "  checked: %s\n", strings.Join(found.Checked, ", "))
	for _, p := range check.Options.ByConstruction() {
		fmt.Fprintf(out, "  cannot fail: %s (%s)\n", p.Name, p.ByConstruction)
	}
}

// printViolation prints a counterexample: its steps, and then the same as a trace.
func printViolation(out io.Writer, name string, module bounded.Module, v *explore.Violation[*bounded.State]) {
	for i, step := range v.Trace {
		if i > 0 {
			fmt.Fprintf(out, "  %s\n", step.Label)
		}
		if i == v.Loop && i+1 < len(v.Trace) {
			fmt.Fprintln(out, "  and from here on, again and again:")
		} else if i == v.Loop {
			fmt.Fprintln(out, "  and nothing more has to happen")
		}
	}
	header, ops, err := module.Trace(name, v.Trace)
	if errors.Is(err, spec.ErrNotSupported) {
		fmt.Fprintf(out, "no trace: %v\n", err)
		return
	}
	fmt.Fprintln(out, "as a trace:")
	if err := trace.Write(out, header, ops, nil); err != nil {
		fmt.Fprintln(out, err)
	}
}
