package binary

import (
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
