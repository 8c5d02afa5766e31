//go:build cgo && linux

package main

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"gaugeblock/internal/sizes"
	"gaugeblock/spec"
)

// workload is a row of the table.
type workload struct {
	bytes     uint64 // of each request of a pair; 0: it is churn
	live      int    // blocks of each thread
	smallOnly bool
	threads   int
	settings  string
}

// Settings, with which all workloads are run.
const (
	plain      = "expandable_segments:False"
	expandable = "expandable_segments:True"
)

// memory of each fake device: the largest workload has 330 GiB live.
const memory = 1024 * spec.GiB

// maxThreads is the largest number of threads of a workload.
const maxThreads = 16

// seed is the first thread's; each later one has the next.
const seed = 7000

func (w workload) String() string {
	name := fmt.Sprintf("pair %s", sizes.Format(w.bytes))
	if w.bytes == 0 {
		mix := "mixed"
		if w.smallOnly {
			mix = "small"
		}
		name = fmt.Sprintf("churn %s, %s live", mix, humanize.Comma(int64(w.live)))
	}
	if w.threads > 1 {
		name += fmt.Sprintf(", %d threads", w.threads)
	}
	if w.settings == expandable {
		name += ", expandable"
	}
	return name
}

// steps is the number of operations of each thread in a run.
func (w workload) steps(of int) int {
	if w.threads > 1 {
		return of / 4
	}
	return of
}

// workloads are all of them: first those with plain segments, because PyTorch's allocator
// cannot be made anew in a process.
func workloads() (list []workload) {
	for _, settings := range []string{plain, expandable} {
		for _, bytes := range []uint64{512, 4 * spec.KiB, spec.MiB, 2 * spec.MiB, 32 * spec.MiB} {
			list = append(list, workload{bytes: bytes, threads: 1, settings: settings})
		}
		for _, smallOnly := range []bool{true, false} {
			for _, live := range []int{100, 1000, 10_000, 100_000} {
				list = append(list, workload{live: live, smallOnly: smallOnly, threads: 1, settings: settings})
			}
		}
		for _, threads := range []int{2, 4, 8, maxThreads} {
			list = append(list, workload{live: 1000, smallOnly: true, threads: threads, settings: settings})
		}
	}
	return list
}
