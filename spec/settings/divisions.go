package settings

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// The setting roundup_power2_divisions says, for each power of two, into how many
// equal steps the sizes up to the next power of two are divided when a request is
// rounded. There are NumDivisions buckets, one for each power of two from
// Geometry.DivisionsStart on: with PyTorch's sizes 1 MiB to 32 GiB.
//
// A single number holds for all buckets. A list names buckets by their size in
// units of DivisionsStart, which are MiB with PyTorch's sizes, and is read from
// left to right:
//
//	[256:1,512:2,>:8]
//
//	bucket    1 ... 256   512   1024 ... 32768
//	divisions 1 ...   1     2      8 ...     8
//
// The first name also fills every bucket below its own; every other name fills
// only its own; '>' fills the buckets after the one named last, or after the
// first bucket when none has been named (see Grammar.RestIncludesLast). A bucket
// that nothing fills is off.
// (c10/core/AllocatorConfig.cpp, parseRoundUpPower2Divisions)

// setDivisions reads either form of the setting.
func setDivisions(c *spec.Config, s setting, r release) error {
	if s.isList() {
		return setDivisionsList(c, s, r)
	}
	n, err := s.unsigned(s.value)
	if err != nil {
		return err
	}
	if !isPowerOfTwo(n) {
		return s.refuse(s.value, "must be a power of two")
	}
	fillDivisions(c.Divisions[:], n)
	return nil
}

func setDivisionsList(c *spec.Config, s setting, r release) error {
	named, last := false, 0
	for _, e := range s.list {
		n, err := s.unsigned(e.value)
		if err != nil {
			return err
		}
		if n != 0 && !isPowerOfTwo(n) {
			return s.refuse(e.value, "must be a power of two, or 0 for off")
		}
		if e.name.text == ">" {
			if r.RestIncludesLast {
				fillDivisions(c.Divisions[last:], n)
			} else {
				fillDivisions(c.Divisions[last+1:], n)
			}
			continue
		}
		if last, err = divisionsBucket(s, e.name); err != nil {
			return err
		}
		c.Divisions[last] = n
		if !named {
			fillDivisions(c.Divisions[:last], n)
			named = true
		}
	}
	return nil
}

// divisionsBucket is the bucket that a list names; a size beyond the last
// bucket's stands for that one.
func divisionsBucket(s setting, name token) (int, error) {
	size, err := s.unsigned(name)
	if err != nil {
		return 0, err
	}
	if !isPowerOfTwo(size) {
		return 0, s.refuse(name, "must be a power of two, or '>'")
	}
	return min(bits.TrailingZeros64(size), spec.NumDivisions-1), nil
}

func fillDivisions(buckets []uint64, n uint64) {
	for i := range buckets {
		buckets[i] = n
	}
}

// divisionsInWords writes what setDivisions reads: the number where all buckets
// agree, else the shortest list that names buckets in order.
func divisionsInWords(d [spec.NumDivisions]uint64, grammar Grammar) string {
	head := 0 // the last bucket of the run at the start
	for head < spec.NumDivisions-1 && d[head+1] == d[0] {
		head++
	}
	if head == spec.NumDivisions-1 {
		return strconv.FormatUint(d[0], 10)
	}
	tail := spec.NumDivisions - 1 // the first bucket of the run at the end
	for d[tail-1] == d[tail] {
		tail--
	}
	var entries []string
	for bucket := head; bucket < tail; bucket++ {
		entries = append(entries, fmt.Sprintf("%d:%d", 1<<bucket, d[bucket]))
	}
	if d[tail] != 0 && grammar.RestIncludesLast {
		entries = append(entries, fmt.Sprintf("%d:%d", 1<<tail, d[tail]))
	}
	if d[tail] != 0 {
		entries = append(entries, fmt.Sprintf(">:%d", d[tail]))
	}
	return "[" + strings.Join(entries, ",") + "]"
}
