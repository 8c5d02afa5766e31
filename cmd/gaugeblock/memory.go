package main

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/dustin/go-humanize"

	"gaugeblock/tools/replay"
)

// byteSize is a number of bytes on the command line; 0: not given.
type byteSize uint64

// UnmarshalText reads 256, 512MiB, or 2GiB.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n == 0 || n > math.MaxInt64 {
		return fmt.Errorf("%q is not a size: give bytes, 512MiB or 2GiB", text)
	}
	*s = byteSize(n)
	return nil
}

// apply lets the garbage collector work rarely, and harder as the memory in use comes near
// the size, so that the process does not need much more than that.
func (s byteSize) apply() {
	if s == 0 {
		s = replay.DefaultMemory
	}
	const rarely = 400
	debug.SetGCPercent(rarely)
	debug.SetMemoryLimit(int64(s))
}
