//go:build cgo && linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"gaugeblock/tools/torch"
	"gaugeblock/tools/torch/binary"
)

// benchmark does what the command line asks for.
func benchmark(o options) error {
	if o.count != "" {
		return printCounts(binary.Options{Libraries: o.torch, Work: o.count})
	}
	if releases := splitReleases(o.torch); len(releases) > 1 {
		return byRelease(os.Stdout, o, releases)
	}
	work, err := os.MkdirTemp("", "gaugeblock-bench-")
	if err != nil {
		return err
	}
	return errors.Join(compare(os.Stdout, o, work), os.RemoveAll(work))
}

// printCounts is what a process that counts prints.
func printCounts(o binary.Options) error {
	list, err := count(o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(list)
}

// compare prints the tables.
func compare(to io.Writer, o options, work string) error {
	found, err := torch.Find(o.torch, work)
	if err != nil {
		return err
	}
	if err := build(found); err != nil {
		return err
	}
	theirs, err := newPyTorch(found, o.runtime)
	if err != nil {
		return err
	}
	reference, err := newOurs(o.runtime != "", found.Release().Name)
	if err != nil {
		return err
	}
	if !o.times {
		load(to, "before")
	}
	results, err := measureAll([2]side{theirs, reference}, o)
	if err != nil {
		return err
	}
	if o.times {
		return json.NewEncoder(to).Encode(timesOf(results))
	}
	load(to, "after")
	fmt.Fprintf(to, "\n%s\n", timesTable(results))
	if o.heap {
		report, err := heapReport(theirs, reference)
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "\n%s\n", report)
	}
	costs, err := costsOf(parts(theirs, reference), o)
	if err != nil {
		return err
	}
	if o.runtime != "" { // whose functions cannot be counted
		fmt.Fprintf(to, "\n%s\n", costsTable(costs))
		return nil
	}
	counts, err := countElsewhere(found)
	if err != nil {
		return err
	}
	fmt.Fprintf(to, "\n%s\n\n%s\n", countsTable(counts), costsTable(costs))
	return nil
}

func measureAll(sides [2]side, o options) (results []result, err error) {
	for _, w := range workloads() {
		if !o.only.MatchString(w.String()) {
			continue
		}
		r, err := measure(sides, w, o)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", w, err)
		}
		fmt.Fprintf(os.Stderr, "%v: %.2f\n", w, r.ratio())
		results = append(results, r)
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("-only=%v: there is no such workload", o.only)
	}
	return results, nil
}

// load prints what else the machine is doing.
func load(to io.Writer, when string) {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(to, "load average %s: %s", when, text)
	}
}
