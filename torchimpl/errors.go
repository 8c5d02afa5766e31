package torchimpl

import (
	"regexp"
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// An OutOfMemory is PyTorch's OutOfMemoryError: its message, and the figures in it as far
// as they can be read there. It wraps the *spec.OutOfMemoryError that it comes to.
type OutOfMemory struct {
	Message string
	Figures spec.OutOfMemoryError
}

func (e *OutOfMemory) Error() string { return e.Message }

// Unwrap gives the figures.
func (e *OutOfMemory) Unwrap() error { return &e.Figures }

// A Refusal is any other error of PyTorch's own: a check or an assertion that failed. Most
// misuse ends in one.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

// Internal reports whether it is an assertion, which should not fail whatever a caller does.
func (e *Refusal) Internal() bool { return strings.Contains(e.Message, "INTERNAL ASSERT FAILED") }

// pattern finds a size in a message.
func pattern(text string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(text, "SIZE", `([0-9.]+) (bytes|KiB|MiB|GiB)`))
}

var (
	allocatedPattern   = pattern(`Of the allocated memory SIZE is allocated`)
	privatePattern     = pattern(`with SIZE allocated in private pools`)
	unallocatedPattern = pattern(`and SIZE is reserved`)
	limitPattern       = pattern(`SIZE allowed;`)
)

var units = map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// size is what the message says, as exactly as it says it.
func size(p *regexp.Regexp, message string) (bytes uint64, found bool) {
	m := p.FindStringSubmatch(message)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	return uint64(n * units[m[2]]), true
}

// read fills in the figures that only the message has.
func (e *OutOfMemory) read() {
	f := &e.Figures
	f.Allocated, _ = size(allocatedPattern, e.Message)
	f.PrivatePools, _ = size(privatePattern, e.Message)
	f.Unallocated, _ = size(unallocatedPattern, e.Message)
	f.Limit, f.Limited = size(limitPattern, e.Message)
}

// driverError is an error of CUDA's that PyTorch passes on.
func driverError(code int, message string) error {
	e := &spec.DriverError{Call: "PyTorch", Name: "cudaError", Code: code, Detail: firstLine(message)}
	switch code {
	case 2:
		e.Kind = spec.ErrDriverOutOfMemory
	case 217, 800, 801:
		e.Kind = spec.ErrNotSupported
	}
	return e
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
