package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/similar"
	"gaugeblock/tools/torch"
	"gaugeblock/tools/torch/binary"
	"gaugeblock/upstream"
)

// torchCommand is "gaugeblock torch".
type torchCommand struct {
	Compare compareCommand `cmd:"" default:"withargs" help:"Compare the reference with PyTorch's own allocator (what \"torch\" does without a word behind it)."`
	Get     getCommand     `cmd:"" help:"Fetch releases of PyTorch from the package index, for --torch."`
}

// compareCommand is "gaugeblock torch" without "get".
type compareCommand struct {
	Torch    string   `name:"torch" aliases:"pytorch" placeholder:"TORCH" help:"A release that \"torch get\" has fetched, such as 2.13 or newest; or where PyTorch is: the directory of the package, or of its libraries (default: what python3 finds)."`
	Ops      int      `name:"ops" default:"1000000" placeholder:"N" help:"Compare at least N operations (default: 1000000)."`
	Seed     uint64   `name:"seed" default:"1" placeholder:"S" help:"Begin with the programs of this seed (default: 1)."`
	Area     []string `name:"area" placeholder:"NAME" help:"Programs of this area only; may be given several times. \"gaugeblock soak --help\" lists them."`
	Settings *string  `name:"settings" placeholder:"TEXT" help:"Begin every program with these settings (PYTORCH_ALLOC_CONF) instead of those of its area."`
	Jobs     int      `name:"jobs" short:"j" aliases:"workers" default:"1" placeholder:"N" help:"Processes (default: 1)."`
	Keep     int      `name:"keep" default:"1" placeholder:"N" help:"End when N differences have been found that docs/deviations.md does not list (default: 1)."`
	Out      string   `name:"out" default:"." placeholder:"DIR" help:"Write the programs of such differences to this directory (default: here)."`
	JSON     bool     `name:"json" help:"Print nothing but a JSON object, with --edges one a configuration."`
	Edges    bool     `name:"edges" help:"Instead of random programs, take every step of the configurations of the specification."`
	Against  bool     `name:"against" help:"Instead of the reference and PyTorch, compare two builds of PyTorch: those that the command line names."`
	Builds   []string `arg:"" optional:"" name:"build" help:"With --against: two builds, as --torch names one; the older one first."`
	Config   []string `name:"config" placeholder:"NAME" help:"With --edges: this configuration only; may be given several times. \"gaugeblock explore --help\" lists them."`
}

// Help is what "gaugeblock torch --help" says beside the flags.
func (*compareCommand) Help() string {
	return `Random programs are performed on the reference and on PyTorch's own allocator, the
unmodified binary, each on a fake GPU of its own; no GPU is needed. After every
operation both must have done the same: addresses, errors and what they say, trace
entries, statistics, and every now and then the layout of all memory. PyTorch's fake
GPU watches for hazards: memory that is reused, or goes back, while work uses it.
Differences that docs/deviations.md lists are recognised and counted. Any other is
made shorter and written as a trace, which "gaugeblock replay" takes, and in C++. A
crash of PyTorch's allocator is a difference like any other. See docs/torch.md.

With --edges the programs are walks that take every step between the states of the
configurations that TLC has explored (tla/), in PyTorch's sizes; and the reference takes
every step in the configuration's own. A line a configuration says how many steps there
are, how many were taken, and what differed. --ops, --seed, --area, --settings, --keep and
--out do not matter then.

With --against two builds of PyTorch are compared with each other, and what they decide
differently is printed, by cause, each with its smallest program: what does a branch
change? --keep does not matter then.

It needs a C++ compiler, and a PyTorch with CUDA, 2.8 to 2.15: the reference follows the
release that it is.
The last line is "N operations compared, L listed differences, U unexplained". The
exit status is 0 when U is 0, 1 when it is not, 2 when the command line made no sense
or PyTorch cannot be had.`
}

// Validate is called by kong.
func (c *compareCommand) Validate() error {
	switch {
	case c.Ops < 1:
		return fmt.Errorf("--ops=%d: at least one operation has to be compared", c.Ops)
	case c.Keep < 1:
		return fmt.Errorf("--keep=%d: the first difference is kept in any case", c.Keep)
	}
	if err := checkJobs(c.Jobs, 1); err != nil {
		return err
	}
	if err := checkOut(c.Out); err != nil {
		return err
	}
	switch {
	case c.Against && (len(c.Builds) != 2 || c.Torch != "" || c.Edges):
		return errors.New("--against compares two builds: gaugeblock torch --against 2.14 2.15")
	case !c.Against && len(c.Builds) > 0:
		return fmt.Errorf("%s: builds are for --against%s", quote.Text(c.Builds[0]), similar.Question(c.Builds[0], []string{"compare", "get"}))
	}
	if len(c.Config) > 0 && !c.Edges {
		return errors.New("--config is of --edges")
	}
	return checkPrograms(c.Area, c.Settings, upstream.Newest())
}

// buildTorch builds what a search needs; a test builds it once for several searches.
var buildTorch = binary.Build

// Run searches, and prints what came of it.
func (c *compareCommand) Run(env *environment) (err error) {
	var listens atomic.Bool // runEdges does: the first Ctrl-C ends it, with what was found
	work, remove, err := scratch("gaugeblock-torch-", func(s os.Signal) bool {
		return s != os.Interrupt || !listens.CompareAndSwap(true, false)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	if c.Against {
		return c.runAgainst(env, work)
	}
	pytorch, err := torch.Find(c.Torch, work)
	if err != nil {
		return err
	}
	if err := buildTorch(pytorch); err != nil {
		return err
	}
	if c.Edges {
		return c.runEdges(env, pytorch, &listens)
	}
	bar := newProgress(env.stderr, c.Ops, c.JSON)
	bar.counting = "%d of %d operations"
	report, err := torch.Search{
		PyTorch: pytorch, Areas: c.Area, Settings: c.Settings, Operations: c.Ops, Seed: c.Seed,
		Workers: c.Jobs, Keep: c.Keep, Directory: c.Out, Progress: bar.set,
	}.Run()
	bar.finish()
	if err != nil {
		return err
	}
	return c.tell(env, &report)
}

// tell prints what came of a search.
func (c *compareCommand) tell(env *environment, report *torch.Report) error {
	if len(report.Unexplained) > 0 {
		env.status = statusDiffers
	}
	if c.JSON {
		return json.NewEncoder(env.stdout).Encode(report)
	}
	return printTorch(env.stdout, report)
}

// printTorch writes a report for people.
func printTorch(w io.Writer, r *torch.Report) error {
	var b strings.Builder
	for _, row := range r.Rows() {
		fmt.Fprintln(&b, row)
	}
	for _, f := range r.Unexplained {
		fmt.Fprintf(&b, "%s (area %s, seed %d), written to %s", f.What, f.Area, f.Seed, f.Trace)
		if f.Cplusplus != "" {
			fmt.Fprintf(&b, " and, in C++, %s", f.Cplusplus)
		}
		fmt.Fprintln(&b, ":")
		for _, line := range f.Program {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	n := float64(r.Operations)
	fmt.Fprintf(&b, "PyTorch %s, %.0f s, %.0f operations a second, %.0f a second of a processor\n",
		cmp.Or(r.PyTorch, "of an unknown version"), r.Seconds, n/r.Seconds, n/r.CPUSeconds)
	fmt.Fprintln(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}
