//go:build cgo && linux

package main

import (
	"fmt"
	"runtime"

	"github.com/dustin/go-humanize"

	"gaugeblock/spec"
)

// heapBlocks is the number of live blocks for which the heaps are measured.
const heapBlocks = 1_000_000

// heapUse is how many bytes of the C library's heap and of Go's are in use for heapBlocks live
// blocks of the small churn, the list of their pointers left out.
func heapUse(s side, p *pytorch) (c, inGo int64, err error) {
	cBefore, goBefore, err := heaps(p)
	if err != nil {
		return 0, 0, err
	}
	if err := s.begin(workload{live: heapBlocks, smallOnly: true, threads: 1, settings: plain}); err != nil {
		return 0, 0, err
	}
	cAfter, goAfter, err := heaps(p)
	if err != nil {
		return 0, 0, err
	}
	return cAfter - cBefore, goAfter - goBefore, s.end()
}

// heaps is how many bytes of both heaps are in use.
func heaps(p *pytorch) (c, inGo int64, err error) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if err := p.call(callFigures); err != nil {
		return 0, 0, err
	}
	return int64(p.c.figures.heap_bytes), int64(m.HeapAlloc), nil
}

// heapReport compares what both need for the blocks. During PyTorch's run, Go's heap grows by what
// its fake GPU needs. Ours needs as much for its own, which is left out.
func heapReport(p *pytorch, o *ours) (string, error) {
	const list = 8 * heapBlocks // of pointers, in the heap of each side
	theirs, fake, err := heapUse(p, p)
	if err != nil {
		return "", err
	}
	_, own, err := heapUse(o, p)
	if err != nil {
		return "", err
	}
	theirs, own = theirs-list, own-list-fake
	return fmt.Sprintf("heap for %s live blocks (small churn): PyTorch %.0f MiB (%d bytes a block), ours %.0f MiB (%d bytes a block); "+
		"the fake GPU of each, %.0f MiB, is not counted", humanize.Comma(heapBlocks),
		mib(theirs), theirs/heapBlocks, mib(own), own/heapBlocks, mib(fake)), nil
}

func mib(bytes int64) float64 { return float64(bytes) / float64(spec.MiB) }
