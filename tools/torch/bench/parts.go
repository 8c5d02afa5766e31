//go:build cgo && linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gaugeblock/tools/torch/binary"
)

// counted are the workloads whose calls are counted.
func counted() []workload {
	return []workload{
		{bytes: 512, threads: 1, settings: plain},
		{bytes: 512, threads: 1, settings: expandable},
		{live: 1000, smallOnly: true, threads: 1, settings: plain},
		{live: 1000, smallOnly: true, threads: 1, settings: expandable},
	}
}

const countedSteps = 1000

// callCounts are the calls that PyTorch's allocator has made in countedSteps operations.
type callCounts struct {
	Workload string
	Calls    map[string]int
}

// count counts in this process, into which the counter was preloaded.
func count(o binary.Options) (list []callCounts, err error) {
	p, err := newPyTorch(o, "")
	if err != nil {
		return nil, err
	}
	before := map[string]int{}
	for _, w := range counted() {
		if err := errors.Join(p.configure(w.settings), p.begin(w)); err != nil {
			return nil, err
		}
		if _, err := p.run(countedSteps); err != nil {
			return nil, err
		}
		text, err := counts()
		if err != nil {
			return nil, err
		}
		c := callCounts{w.String(), map[string]int{}}
		for line := range strings.Lines(text) {
			var n int
			number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			if _, err := fmt.Sscan(number, &n); err != nil {
				return nil, fmt.Errorf("the counter says %q: %w", line, err)
			}
			if n > before[name] {
				c.Calls[name] = n - before[name]
			}
			before[name] = n
		}
		list = append(list, c)
		if err := p.end(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// countElsewhere counts in another process, whose CUDA libraries are built so that their
// functions say when they are called.
func countElsewhere(o binary.Options) (list []callCounts, err error) {
	o.Work = filepath.Join(o.Work, "counting")
	if err := build(o, "-finstrument-functions"); err != nil {
		return nil, err
	}
	counter, err := buildCounter(o)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, "-count", o.Work, "-torch", o.Libraries)
	c.Env = append(os.Environ(), "LD_PRELOAD="+counter)
	var problems bytes.Buffer
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("counting calls: %w\n%s", err, &problems)
	}
	return list, json.Unmarshal(out, &list)
}

// part is a call that an operation makes, timed alone.
type part struct {
	name string
	run  func(times int) error
}

// parts are those of PyTorch's operations, by the names of the counter, and for comparison
// what the reference has in their places.
func parts(p *pytorch, o *ours) []part {
	in := func(number int) func(int) error {
		return func(times int) error { return p.part(number, times) }
	}
	return []part{
		{"C++: an empty loop", in(partNothing)},
		{"C++: malloc of 0 bytes and free of nothing", in(partEntry)},
		{"C++: cudaGetDevice", in(partRuntimeDevice)},
		{"C++: c10::cuda::GetDevice, which calls it", in(partC10Device)},
		{"C++: lock and unlock of a std::recursive_mutex", in(partRecursiveMutex)},
		{"C++: lock and unlock of a std::mutex", in(partMutex)},
		{"C++: new and delete of 128 bytes", in(partHeap)},
		{"Go: malloc of 0 bytes and free of nothing", o.enter},
		{"Go: lock and unlock of a sync.Mutex", lockInGo},
	}
}

// enter allocates 0 bytes and frees nothing.
func (o *ours) enter(times int) error {
	o.workload = workload{}
	return o.pairs(times)
}

func lockInGo(times int) error {
	var mu sync.Mutex
	for range times {
		mu.Lock()
		//lint:ignore SA2001 its cost is what is asked for
		mu.Unlock()
	}
	return nil
}

// cost is what a part takes, in nanoseconds a call.
type cost struct {
	name  string
	times sample
}

func costsOf(list []part, o options) (costs []cost, err error) {
	for _, p := range list {
		c := cost{name: p.name}
		for range o.runs {
			took, err := processorTime(func() error { return p.run(o.steps) })
			if err != nil {
				return nil, err
			}
			c.times = append(c.times, float64(took.Nanoseconds())/float64(o.steps))
		}
		slices.Sort(c.times)
		costs = append(costs, c)
	}
	return costs, nil
}
