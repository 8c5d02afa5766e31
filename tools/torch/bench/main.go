// Command bench times PyTorch's allocator (the binary of the release, or of the directory, that
// -torch says) and the reference in one process, each on a fake GPU of its own of the same kind,
// with the workloads of tests/bench.
//
//	native/loops.cc    the loops for PyTorch's allocator, in C++
//	native/counter.c   what PyTorch's allocator calls, counted in another process
//	pytorch.go         building, loading and calling them
//	reference.go       the same for the reference
//	gpu.go             what both work on: a fake GPU each, or with -runtime the real one
//	workload.go        the workloads
//	heap.go            the heaps of both
//	measure.go         the runs: alternating, and both must have done the same
//	parts.go           the calls of an operation, and what they cost alone
//	table.go           the results as text
//	releases.go        several releases, each in a process of its own
//
// Run it with `make bench-torch`. docs/benchmarks.md has results.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
)

// options are the command line's.
type options struct {
	torch string
	runs  int
	steps int
	only  *regexp.Regexp
	count string
	times bool
	heap  bool

	runtime string // CUDA's own runtime library: both work on the real GPU
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err == nil {
		err = benchmark(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.torch, "torch", "newest", "a release that \"gaugeblock torch get\" has fetched, or where PyTorch is: the directory of the package, or of its libraries; several, with commas between them, for a table of the times of each")
	flags.IntVar(&o.runs, "runs", 9, "runs of each side for each workload")
	flags.IntVar(&o.steps, "steps", 200_000, "operations of a run; a quarter of it for each thread if there are several")
	only := flags.String("only", "", "workloads whose names this regular expression finds")
	flags.StringVar(&o.count, "count", "", "count calls instead, with what was built in this directory; bench starts itself so")
	flags.BoolVar(&o.times, "times", false, "print the medians as JSON; bench starts itself so")
	flags.BoolVar(&o.heap, "heap", false, "also measure the heaps for a million live blocks")
	flags.StringVar(&o.runtime, "runtime", "", "CUDA's libcudart.so.13: both sides on the real GPU, with its driver (choose workloads that fit its memory)")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("there are no arguments beside flags: %q", flags.Arg(0))
	case o.runs < 1 || o.steps < 10:
		return o, errors.New("-runs must be at least 1, and -steps at least 10")
	}
	o.only, err = regexp.Compile(*only)
	return o, err
}
