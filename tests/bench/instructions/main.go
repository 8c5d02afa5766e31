// Command instructions performs a workload of the benchmarks so many times, for a tool that counts the
// instructions of a process. A test beside it counts them, and fails if an operation needs more than
// testdata/instructions.txt says. Instructions do not depend on what else the machine does.
//
//	instructions NAME STEPS
package main

import (
	"fmt"
	"os"
	"strconv"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/churn"
	"gaugeblock/spec"
)

// A workload is an allocator, and what is done with it in each step.
type workload struct {
	name     string
	settings string
	steps    int // which are counted
	prepare  func(a *alloc.Allocator, stream, other spec.Stream) (step func() error, err error)
}

var workloads = []workload{
	{"pair-small", "", 20000, pairs(512)},
	{"pair-large", "", 20000, pairs(32 * spec.MiB)},
	{"pair-expandable", "expandable_segments:True", 20000, pairs(32 * spec.MiB)},
	{"pair-recorded", "", 10000, recordedPairs},
	{"churn-100", "", 10000, churns(100, true)},
	{"churn-10000", "", 10000, churns(10000, true)},
	{"churn-100000", "", 10000, churns(100000, true)},
	{"churn-mixed-1000", "", 10000, churns(1000, false)},
	{"churn-expandable-1000", "expandable_segments:True", 10000, churns(1000, true)},
}

func main() {
	if err := perform(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func perform(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: instructions NAME STEPS")
	}
	steps, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for _, w := range workloads {
		if w.name == args[0] {
			return w.perform(steps)
		}
	}
	return fmt.Errorf("%s is no workload", args[0])
}

func (w workload) perform(steps int) error {
	gpu := fakegpu.New(fakegpu.Config{Devices: []fakegpu.DeviceConfig{{TotalMemory: 80 * spec.GiB}}})
	a, err := alloc.New(gpu, alloc.Options{Settings: w.settings})
	if err != nil {
		return err
	}
	stream, err := gpu.CreateStream(0)
	if err != nil {
		return err
	}
	other, err := gpu.CreateStream(0)
	if err != nil {
		return err
	}
	step, err := w.prepare(a, stream, other)
	if err != nil {
		return err
	}
	for range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// pairs is malloc and free of one size.
func pairs(bytes uint64) func(*alloc.Allocator, spec.Stream, spec.Stream) (func() error, error) {
	return func(a *alloc.Allocator, stream, _ spec.Stream) (func() error, error) {
		return func() error {
			p, err := a.Malloc(spec.Request{Stream: stream, Bytes: bytes})
			if err != nil {
				return err
			}
			return a.Free(p)
		}, nil
	}
}

// recordedPairs is the same with a use by another stream, whose event the next malloc finds completed.
func recordedPairs(a *alloc.Allocator, stream, other spec.Stream) (func() error, error) {
	return func() error {
		p, err := a.Malloc(spec.Request{Stream: stream, Bytes: 4 * spec.MiB})
		if err != nil {
			return err
		}
		if err := a.RecordStream(p, 0, other); err != nil {
			return err
		}
		return a.Free(p)
	}, nil
}

// churns frees a random one of n live blocks and allocates another.
func churns(n int, smallOnly bool) func(*alloc.Allocator, spec.Stream, spec.Stream) (func() error, error) {
	return func(a *alloc.Allocator, stream, _ spec.Stream) (func() error, error) {
		w, err := churn.NewWorker(a, stream, n, smallOnly, 7000)
		if err != nil {
			return nil, err
		}
		return w.Step, nil
	}
}
