package main

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
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
