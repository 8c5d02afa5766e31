package spec

import (
	"slices"
	"strconv"
	"strings"
)

// A Reserve is how many bytes of addresses an expandable segment reserves: a fraction of the
// device's memory, or, if that is 0, a number of bytes. The zero value stands for 9/8 of the
// device's memory, which is also the most.
type Reserve struct {
	Fraction float64
	Bytes    uint64
}

// Of is the reserve in bytes on a device of totalMemory bytes.
func (r Reserve) Of(totalMemory uint64) uint64 {
	full := totalMemory + totalMemory/8
	switch {
	case r == Reserve{} || r.Fraction*float64(totalMemory) >= float64(full):
		return full
	case r.Fraction > 0:
		return uint64(r.Fraction * float64(totalMemory))
	}
	return min(r.Bytes, full)
}

// ReserveByClass has the reserves of classes of streams. It is a value that can be compared:
// lines "CLASS FRACTION BYTES", sorted by class; a class has no white space.
type ReserveByClass string

// With is the same with another reserve for the class.
func (m ReserveByClass) With(class string, r Reserve) ReserveByClass {
	var lines []string
	for c, other := range m.All {
		if c != class {
			lines = append(lines, reserveLine(c, other))
		}
	}
	lines = append(lines, reserveLine(class, r))
	slices.Sort(lines)
	return ReserveByClass(strings.Join(lines, "\n"))
}

// All yields the classes in order, each with its reserve.
func (m ReserveByClass) All(yield func(class string, r Reserve) bool) {
	for line := range strings.Lines(string(m)) {
		words := strings.Fields(line)
		fraction, _ := strconv.ParseFloat(words[1], 64)
		bytes, _ := strconv.ParseUint(words[2], 10, 64)
		if !yield(words[0], Reserve{fraction, bytes}) {
			return
		}
	}
}

// ReserveFor is the reserve of a segment for a stream of the class, "" if it is in none: the
// class's own, or else Reserve.
func (c *Config) ReserveFor(class string) Reserve {
	for name, r := range c.ReserveByClass.All {
		if name == class {
			return r
		}
	}
	return c.Reserve
}

func reserveLine(class string, r Reserve) string {
	return class + " " + strconv.FormatFloat(r.Fraction, 'g', -1, 64) + " " + strconv.FormatUint(r.Bytes, 10)
}
