package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"

	"gaugeblock/internal/inorder"
	"gaugeblock/internal/memlimit"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
	"gaugeblock/upstream"
)

// replayCommand is "gaugeblock replay".
type replayCommand struct {
	Traces  []string `arg:"" name:"file" help:"Traces (*.jsonl, *.jsonl.gz), patterns, directories to search, or - for standard input."`
	JSON    bool     `name:"json" xor:"form" help:"Print a JSON object for each trace, and one for all of them."`
	Verbose int      `short:"v" xor:"form" type:"counter" help:"Print a line for each trace; twice (-vv): each operation as a sentence, too."`
	PyTorch release  `name:"pytorch" placeholder:"RELEASE" help:"Follow this release of PyTorch, such as 2.13 (default: what the trace tells)."`
	Jobs    int      `short:"j" aliases:"workers" placeholder:"N" help:"Replay N traces at a time (default: as many as there are processors)."`

	MaxMemory memorySize `default:"2GiB" placeholder:"SIZE" help:"Stop at a trace that needs more memory than this (default: 2GiB)."`
}

// Help is what "gaugeblock replay --help" prints beside the flags.
func (*replayCommand) Help() string {
	return `A trace is a recorded run: the requests of a program, and what the allocator did. Each
is replayed on a fake GPU. If the reference decides otherwise in one, a line shows the
first operation that differs. The last line counts the traces, and says what was
compared.

The rules are those of the release of PyTorch that the trace tells, by its "release" or
its source. If it tells none they are those of the newest one, and, if it differs then,
of each other release, until one makes it exact. "gaugeblock version" lists them.

A trace that expects nothing is only performed, and counts as neither exact nor
different. If a trace does not say every address that the driver returned, it is
replayed with several addresses. It is "not determined" if they matter and none makes
it exact.

The exit status is 0 when no trace differs, 1 when one differs, is not determined or
not supported, 2 when an argument names no trace or a trace cannot be read.`
}

// Validate is called by kong.
func (c *replayCommand) Validate() error {
	return checkJobs(c.Jobs, 0)
}

// replayed is the result of one trace.
type replayed struct {
	result replay.Result
	story  bytes.Buffer
	err    error
}

// Run replays the traces, and prints the results in the order of the arguments.
func (c *replayCommand) Run(env *environment) error {
	files, err := replay.FindTraces(c.Traces)
	if err != nil {
		return err
	}
	if c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	memlimit.Collect(c.MaxMemory.most())
	progress := newProgress(env.stderr, len(files), c.JSON)
	report := report{
		json: c.JSON, every: c.Verbose > 0,
		stdout: &checkedWriter{to: progress.above(env.stdout)},
		stderr: progress.above(env.stderr),
	}
	inorder.Each(files, c.Jobs,
		func(file string) *replayed { return c.replay(file, env.stdin) },
		func(r *replayed) {
			report.trace(r)
			progress.advance()
		})
	progress.finish()
	report.all()
	env.status = report.status()
	return report.stdout.err
}

func (c *replayCommand) replay(file string, stdin io.Reader) *replayed {
	r := &replayed{}
	options := replay.Options{New: reference.New, MaxMemory: c.MaxMemory.most()}
	rules := c.PyTorch.Name
	if c.PyTorch.given() {
		options.New = reference.Follows(c.PyTorch.Release)
	} else {
		options.New = func(d spec.Driver, h *trace.Header) (spec.Allocator, error) {
			if version, _, err := upstream.OfTrace(h.Release, h.Source); err == nil {
				rules = version.Name
			}
			return reference.New(d, h)
		}
	}
	if c.Verbose > 1 {
		options.Sentences = &r.story
	}
	failed := guard(file, func() {
		if file == replay.Stdin {
			r.result, r.err = replay.Reader(stdin, "stdin", options)
			return
		}
		r.result, r.err = replay.File(file, options)
		if r.err == nil && !c.PyTorch.given() && r.result.FirstDifference != nil {
			c.tryReleases(file, r)
		}
	})
	if failed != nil {
		r.err = failed
	}
	if r.result.Rules == "" {
		r.result.Rules = rules
	}
	return r
}

// tryReleases replays a trace that differs, and that does not tell its release, by the rules of
// each release, the newest first, until one makes it exact.
func (c *replayCommand) tryReleases(file string, r *replayed) {
	t, err := trace.Open(file)
	if err != nil {
		return // it is reported as it differed
	}
	_, told, err := upstream.OfTrace(t.Header().Release, t.Header().Source)
	t.Close()
	if told || err != nil {
		return
	}
	for _, release := range slices.Backward(upstream.Releases()) {
		again := replayed{}
		options := replay.Options{New: reference.Follows(release), MaxMemory: c.MaxMemory.most()}
		if c.Verbose > 1 {
			options.Sentences = &again.story
		}
		if again.result, again.err = replay.File(file, options); again.err == nil && again.result.Exact {
			again.result.Release, again.result.Rules = release.Name, release.Name
			*r = again
			return
		}
	}
}

// report prints results and counts them.
type report struct {
	json   bool
	every  bool // print a line also for a trace that is exact
	stdout *checkedWriter
	stderr io.Writer
	tally  replay.Tally
}

// trace reports one trace. Nothing of one that cannot be read is on standard output.
func (r *report) trace(t *replayed) {
	if t.err != nil {
		r.tally.Unreadable++
		fmt.Fprintln(r.stderr, messageOf(t.err))
		return
	}
	r.tally.Add(&t.result)
	if r.json {
		printJSON(r.stdout, &t.result)
		return
	}
	r.stdout.Write(t.story.Bytes())
	if r.every || !t.result.Exact || t.result.NoEnd {
		fmt.Fprintln(r.stdout, &t.result)
	}
}

// all reports the counts, if there are any traces.
func (r *report) all() {
	switch {
	case r.tally.Traces == 0:
	case r.json:
		printJSON(r.stdout, &r.tally)
	default:
		fmt.Fprintln(r.stdout, r.tally)
	}
}

// printJSON prints a value as one line of JSON.
func printJSON(w *checkedWriter, value any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value) // the writer remembers its error
}

func (r *report) status() int {
	switch {
	case r.tally.Unreadable > 0:
		return statusBadInput
	case r.tally.Exact+r.tally.Uncompared < r.tally.Traces:
		return statusDiffers
	}
	return statusExact
}

// checkedWriter remembers the first error and writes nothing after it.
type checkedWriter struct {
	to  io.Writer
	err error
}

func (w *checkedWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	var n int
	n, w.err = w.to.Write(p)
	return n, w.err
}
