package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"gaugeblock/conformance"
	"gaugeblock/internal/inorder"
	"gaugeblock/internal/memlimit"
	"gaugeblock/internal/similar"
	"gaugeblock/spec"
	"gaugeblock/tools/reference"
	"gaugeblock/upstream"
)

// soakCommand is "gaugeblock soak".
type soakCommand struct {
	Ops      int      `name:"ops" default:"1000000" placeholder:"N" help:"Check at least N operations (default: 1000000)."`
	Seed     uint64   `name:"seed" default:"1" placeholder:"S" help:"Begin with the program of this seed (default: 1)."`
	Shard    shard    `name:"shard" default:"1/1" placeholder:"I/N" help:"Do only the I-th of N parts: the programs of every N-th seed, and the I-th of N equal parts of the operations."`
	Area     []string `name:"area" placeholder:"NAME" help:"Test this area only; may be given several times. The names are in the help above."`
	Settings *string  `name:"settings" placeholder:"TEXT" help:"Begin every program with these settings (PYTORCH_ALLOC_CONF) instead of those of its area."`
	PyTorch  release  `name:"pytorch" placeholder:"RELEASE" help:"Follow this release of PyTorch (default: newest)."`
	Out      string   `name:"out" default:"." placeholder:"DIR" help:"Write counterexamples to this directory (default: here)."`
	Jobs     int      `short:"j" aliases:"workers" placeholder:"N" help:"Test N areas at a time (default: as many as there are processors). The result is the same."`
	JSON     bool     `name:"json" help:"Print nothing but the summary."`

	MaxMemory memorySize `name:"max-memory" placeholder:"SIZE" help:"End when this much memory is not enough, such as 4GiB (default: no limit)."`
}

// Help is what "gaugeblock soak --help" prints beside the flags.
func (*soakCommand) Help() string {
	var areas strings.Builder
	for _, a := range conformance.Areas() {
		fmt.Fprintf(&areas, "\n  %-11s %s", a.Name, a.What)
	}
	return `Random programs are run by the reference on a fake GPU, with all checks after every
operation, and some of them again with each driver call failing. The same seed gives
the same programs. A later run continues from the seed that a summary ends with, and
--shard divides a large run.

The last line of the output is a summary in JSON: operations, violations, labels,
seconds. A program with a violation is shortened and written to a trace, which
"gaugeblock replay" takes. Ctrl-C ends the search and prints the summary. The exit
status is 0 when there is no violation, 1 when there is one, 2 when the command line
made no sense, 3 when the memory did not suffice, 130 after Ctrl-C or SIGTERM.

Areas:` + areas.String()
}

// shard is one part of several.
type shard struct{ index, of uint64 }

// UnmarshalText reads "2/8".
func (s *shard) UnmarshalText(text []byte) error {
	index, of, found := strings.Cut(string(text), "/")
	i, err1 := strconv.ParseUint(index, 10, 32)
	n, err2 := strconv.ParseUint(of, 10, 32)
	if !found || err1 != nil || err2 != nil || i < 1 || i > n {
		return fmt.Errorf("%q is not a part: write 2/8 for the second of eight", text)
	}
	s.index, s.of = i, n
	return nil
}

// Validate is called by kong.
func (c *soakCommand) Validate() error {
	if c.Ops < 1 {
		return fmt.Errorf("--ops=%d: at least one operation has to be checked", c.Ops)
	}
	if err := cmp.Or(checkJobs(c.Jobs, 0), checkOut(c.Out)); err != nil {
		return err
	}
	return checkPrograms(c.Area, c.Settings, c.release())
}

// checkOut checks the flag --out at once, and not only when a violation is found.
func checkOut(dir string) error {
	there, err := os.Stat(dir)
	switch {
	case dir == "" || errors.Is(err, fs.ErrNotExist):
		return nil // the present directory, or one that will be made
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case !there.IsDir():
		return fmt.Errorf("--out=%s is not a directory", dir)
	}
	return nil
}

// checkPrograms checks the flags that choose random programs: the names of areas, and the
// settings of a release, if there are any.
func checkPrograms(areas []string, conf *string, release upstream.Release) error {
	for _, name := range areas {
		if conformance.Find(name) == nil {
			return fmt.Errorf("--area=%s: there is no such area%s; there are %s", name, similar.Question(name, areaNames()), strings.Join(areaNames(), ", "))
		}
	}
	if conf != nil {
		if _, err := release.Rules.Settings.Parse(*conf, spec.DefaultGeometry()); err != nil {
			return fmt.Errorf("--settings: %w", err)
		}
	}
	return nil
}

// areaNames are the names of the areas of random programs.
func areaNames() (names []string) {
	for _, a := range conformance.Areas() {
		names = append(names, a.Name)
	}
	return names
}

// soakSummary is the last line of the output.
type soakSummary struct {
	Operations int                  `json:"operations"`
	Violations int                  `json:"violations"`
	Labels     conformance.Coverage `json:"labels"`
	Seconds    float64              `json:"seconds"`
	// for --seed: continues from this run
	NextSeed uint64 `json:"next_seed"`
	// with Ctrl-C or SIGTERM, or for want of memory, before the end
	Stopped bool `json:"stopped,omitempty"`

	Counterexamples []counterexample `json:"counterexamples,omitempty"`
}

// counterexample is a shortened program with a violation.
type counterexample struct {
	Area       string `json:"area"`
	Seed       uint64 `json:"seed"`
	Class      string `json:"class"`
	Detail     string `json:"detail"`
	FoundAfter int    `json:"found_after"` // operations of its area
	Length     int    `json:"length"`      // operations
	File       string `json:"file"`        // a trace; empty if it could not be written
}

// Run tests one area after the other.
func (c *soakCommand) Run(env *environment) error {
	started := time.Now()
	areas := c.areas()
	if c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	share := max(c.Ops/int(c.Shard.of)/len(areas), 1)
	progress := newProgress(env.stderr, share*len(areas), c.JSON)
	progress.counting = "%d of %d operations"
	out := &checkedWriter{to: progress.above(env.stdout)}
	notes := io.Discard
	if !c.JSON {
		notes = out
	}
	pressed, end := interruptible()
	defer end()
	var memory *memlimit.Budget
	if c.MaxMemory > 0 {
		memlimit.Collect(uint64(c.MaxMemory))
		memory = memlimit.New(uint64(c.MaxMemory))
	}
	stopped := func() bool { return pressed() || memory.Check() != nil }
	summary := soakSummary{Labels: conformance.Coverage{}}
	var done checkedOperations
	done.tell = progress.set
	inorder.Each(areas, c.Jobs, func(area *conformance.Area) searched {
		if stopped() {
			return searched{}
		}
		return searched{area, c.search(area, share, done.area(), stopped)}
	}, func(s searched) {
		area, outcome := s.area, s.outcome
		if area == nil {
			return
		}
		summary.Operations += outcome.Checked
		summary.Labels.Add(outcome.Labels)
		summary.NextSeed = max(summary.NextSeed, c.Seed+uint64(outcome.Programs)*c.Shard.of)
		fmt.Fprintf(notes, "%s: %v\n", area.Name, &outcome)
		if outcome.Failure != nil {
			summary.Violations++
			found := c.writeCounterexample(outcome.Failure, progress.above(env.stderr))
			found.FoundAfter = outcome.Checked
			summary.Counterexamples = append(summary.Counterexamples, found)
			env.status = statusDiffers
		}
	})
	progress.finish()
	if summary.Stopped = stopped(); summary.Stopped && env.status == statusExact {
		env.status = statusInterrupted
	}
	summary.Seconds = time.Since(started).Seconds()
	printJSON(out, &summary)
	if err := memory.Err(); err != nil && out.err == nil {
		return &exhaustedError{err.Error()}
	}
	return out.err
}

// searched is the outcome of an area.
type searched struct {
	area    *conformance.Area // nil: it was not begun
	outcome conformance.Outcome
}

// checkedOperations adds up what areas that are tested at the same time have checked.
type checkedOperations struct {
	mu   sync.Mutex
	sum  int
	tell func(int)
}

// area is what one of them calls with its own number.
func (c *checkedOperations) area() func(int) {
	before := 0
	return func(checked int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sum += checked - before
		before = checked
		c.tell(c.sum)
	}
}

// release is the one that is followed.
func (c *soakCommand) release() upstream.Release {
	if c.PyTorch.given() {
		return c.PyTorch.Release
	}
	return upstream.Newest()
}

// areas are those of the command line, with its settings.
func (c *soakCommand) areas() []*conformance.Area {
	var areas []*conformance.Area
	for _, a := range conformance.Areas() {
		wanted := len(c.Area) == 0
		for _, name := range c.Area {
			wanted = wanted || name == a.Name
		}
		if !wanted {
			continue
		}
		changed := *a
		changed.Release = c.release().Name
		if c.Settings != nil {
			changed.Settings = []string{*c.Settings}
		}
		areas = append(areas, &changed)
	}
	return areas
}

// search runs a campaign. It ends after its share of operations, since some labels may
// not be reachable under the settings.
func (c *soakCommand) search(area *conformance.Area, share int, progress func(int), stopped func() bool) conformance.Outcome {
	return conformance.Campaign{
		Area: area, Options: c.options(),
		Seed: c.Seed + c.Shard.index - 1, Stride: c.Shard.of,
		Operations: share, Cap: share,
		FaultsEvery: 10, Faults: 200,
		Progress: progress,
		Stopped:  stopped,
	}.Run()
}

// tested makes the allocator that is tested; a test has one with a mistake.
var tested = reference.New

func (c *soakCommand) options() conformance.Options {
	return conformance.Options{New: tested, Every: 8}
}

// writeCounterexample shortens a counterexample and writes it to a trace.
func (c *soakCommand) writeCounterexample(f *conformance.Failure, stderr io.Writer) counterexample {
	f = conformance.Minimise(f, c.options())
	found := counterexample{Area: f.Area, Seed: f.Seed, Class: f.Class, Detail: f.Detail, Length: len(f.Ops)}
	fmt.Fprintln(stderr, f)
	path, err := f.Write(c.Out)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return found
	}
	found.File = path
	fmt.Fprintf(stderr, "gaugeblock replay -vv %s\n", path)
	return found
}
