package main

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"

	"github.com/dustin/go-humanize"
)

// parseSize reads a number of bytes, with or without a unit: 256, 512MiB, 39.5GiB.
func parseSize(text string) (uint64, error) {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size: give bytes, 512MiB or 2GiB", text)
	}
	return n, nil
}

// byteSize is a number of bytes on the command line; 0: not given.
type byteSize uint64

// UnmarshalText reads 256, 512MiB, or 2GiB.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := parseSize(string(text))
	*s = byteSize(n)
	return err
}

// memorySize is how much memory a command may take; 0: any.
type memorySize uint64

// UnmarshalText reads 512MiB, 2GiB, or none.
func (s *memorySize) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*s = 0
		return nil
	}
	n, err := parseSize(string(text))
	if err != nil {
		return fmt.Errorf("%w, or none", err)
	}
	*s = memorySize(n)
	return nil
}

// most is the limit for who takes 0 for the default: a very large one for any.
func (s memorySize) most() uint64 {
	if s == 0 {
		return math.MaxInt64
	}
	return uint64(s)
}

// heap is what of it may be the heap.
func (s memorySize) heap() int64 { return int64(s.most() - s.most()/8) }

// bound lets the garbage collector keep to it, until end.
func (s memorySize) bound() (end func()) {
	limit, percent := debug.SetMemoryLimit(s.heap()), debug.SetGCPercent(ofUse)
	return func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}
}

// How much garbage there may be, in percent of what is in use, and from how many bytes in use on it is less: then what
// is not collected would be most of what a command takes.
const (
	ofUse      = 100
	ofLargeUse = 60
	largeUse   = 128 << 20
)

// collectSooner does so once much is in use, and reports whether it is.
func collectSooner() bool {
	live := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live[:])
	large := live[0].Value.Uint64() > largeUse
	if large {
		debug.SetGCPercent(ofLargeUse)
	}
	return large
}
