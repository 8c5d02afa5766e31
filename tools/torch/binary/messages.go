package binary

import (
	"strconv"
	"strings"

	"gaugeblock/spec"
)

// PyTorch's messages.

// sizeAt reads a size ("20.00 MiB") at the beginning of a text.
func sizeAt(text string) (bytes uint64, found bool) {
	number, rest, _ := strings.Cut(text, " ")
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	for _, unit := range units {
		if strings.HasPrefix(rest, unit.name) {
			return uint64(n * unit.bytes), true
		}
	}
	return 0, false
}

var units = [...]struct {
	name  string
	bytes float64
}{{"bytes", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}

// sizeBehind reads the size behind words of a message.
func sizeBehind(message, words string) (bytes uint64, found bool) {
	if _, text, there := strings.Cut(message, words); there {
		return sizeAt(text)
	}
	return 0, false
}

// sizeBefore reads the size that stands right before words of a message.
func sizeBefore(message, words string) (bytes uint64, found bool) {
	text, _, there := strings.Cut(message, " "+words)
	if !there {
		return 0, false
	}
	unit := strings.LastIndexByte(text, ' ')
	number := strings.LastIndexByte(text[:max(unit, 0)], ' ')
	return sizeAt(text[number+1:])
}

// readMessage fills in the figures that only the message has.
func (e *OutOfMemory) readMessage() {
	f := &e.figures
	f.Allocated, _ = sizeBehind(e.Message, "Of the allocated memory ")
	f.PrivatePools, _ = sizeBehind(e.Message, "by PyTorch, with ")
	f.Unallocated, _ = sizeBefore(e.Message, "is reserved by PyTorch but unallocated")
	f.Limit, f.Limited = sizeBefore(e.Message, "allowed;")
}

// driverError is a CUDA error that PyTorch passes on.
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
