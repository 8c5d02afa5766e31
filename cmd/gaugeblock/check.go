package main

import (
	"fmt"
	"io"
	"runtime"

	"gaugeblock/internal/inorder"
	"gaugeblock/internal/memlimit"
	"gaugeblock/tools/check"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// checkCommand is "gaugeblock check".
type checkCommand struct {
	Logs      []string `arg:"" name:"file" help:"Logs (*.jsonl, *.csv, plain or .gz), patterns, directories to search, or - for standard input."`
	Reference bool     `help:"Also print where the reference first decides otherwise."`
	Live      bool     `help:"Do not report memory that is allocated at the end of a log."`

	StreamOrdered   bool     `help:"Allocating and freeing is work on the stream, as with cudaMallocAsync. Such a log need not say what work uses the memory."`
	BlockingStreams bool     `help:"Streams that the log does not create and the legacy default stream wait for each other."`
	DefaultStream   string   `enum:"legacy,per-thread" default:"legacy" help:"What stream 0 is: legacy or per-thread."`
	Align           byteSize `placeholder:"BYTES" help:"Every address has to be a multiple of this number of bytes."`
	NeedlessCalls   bool     `name:"needless-driver-calls" help:"Also print where the driver was asked for memory while a freed allocation would do."`
	Races           bool     `help:"Also print work on one allocation that is not in order."`

	JSON      bool       `name:"json" help:"Print a JSON object for each log, and one for all of them."`
	Jobs      int        `short:"j" aliases:"workers" placeholder:"N" help:"Check N logs at a time (default: as many as there are processors)."`
	MaxMemory memorySize `default:"2GiB" placeholder:"SIZE" help:"Stop at a log that needs more memory than this (default: 2GiB)."`
}

// Help is what "gaugeblock check --help" prints beside the flags.
func (*checkCommand) Help() string {
	return `A log records what an allocator allocated and freed, its driver calls, and the work of
the program on the device. It is a trace (spec/trace/README.md) or a table of
comma-separated values as RMM's logger writes it (tools/check/README.md), plain
or compressed with gzip. The command repeats it on a fake GPU. It reports hazards (work
on memory that other work may still use) and whose fault they are, overlaps, memory
freed twice or never, and other violations. It says what a log does not show: a log
without lines for work is not clean.

The exit status is 0 when no log has a violation, 1 when one has, 2 when an argument
names no log or a log cannot be read to its end.`
}

// Validate is called by kong.
func (c *checkCommand) Validate() error {
	return checkJobs(c.Jobs, 0)
}

// checked is the result of one log.
type checked struct {
	result *check.Result
	err    error
}

// Run checks the logs, and prints the results in the order of the arguments.
func (c *checkCommand) Run(env *environment) error {
	files, err := replay.FindLogs(c.Logs)
	if err != nil {
		return err
	}
	if c.Jobs == 0 {
		c.Jobs = runtime.GOMAXPROCS(0)
	}
	memlimit.Collect(c.MaxMemory.most())
	progress := newProgress(env.stderr, len(files), c.JSON)
	progress.counting = "%d of %d logs"
	stdout := &checkedWriter{to: progress.above(env.stdout)}
	stderr := progress.above(env.stderr)
	var tally check.Tally
	inorder.Each(files, c.Jobs,
		func(file string) checked { return c.check(file, env.stdin) },
		func(r checked) {
			if r.err != nil {
				tally.Unreadable++
				fmt.Fprintln(stderr, messageOf(r.err))
			} else {
				tally.Add(r.result)
				c.print(stdout, r.result, r.result)
			}
			progress.advance()
		})
	progress.finish()
	if tally.Logs > 0 {
		c.print(stdout, &tally, tally)
	}
	env.status = checkStatus(&tally)
	return stdout.err
}

func (c *checkCommand) check(file string, stdin io.Reader) (r checked) {
	options := check.Options{
		Live: c.Live, StreamOrdered: c.StreamOrdered, BlockingStreams: c.BlockingStreams,
		PerThreadDefault: c.DefaultStream == "per-thread", Alignment: uint64(c.Align),
		NeedlessCalls: c.NeedlessCalls, Races: c.Races, MaxMemory: uint64(c.MaxMemory),
	}
	if c.Reference {
		options.Reference = reference.New
	}
	failed := guard(file, func() {
		if file == replay.Stdin {
			r.result, r.err = check.Reader(stdin, "stdin", options)
		} else {
			r.result, r.err = check.File(file, options)
		}
	})
	if failed != nil {
		r.err = failed
	}
	return r
}

// print prints a value as JSON, or as text.
func (c *checkCommand) print(w *checkedWriter, value any, text fmt.Stringer) {
	if !c.JSON {
		fmt.Fprintln(w, text)
		return
	}
	printJSON(w, value)
}

func checkStatus(t *check.Tally) int {
	switch {
	case t.Unreadable > 0:
		return statusBadInput
	case t.Violations > 0:
		return statusDiffers
	}
	return statusExact
}
