package binary

import (
	"strings"

	"gaugeblock/spec"
)

// An OutOfMemory is PyTorch's OutOfMemoryError: its message, and the figures in it as far
// as they can be read there: errors.As finds the *spec.OutOfMemoryError that it comes to.
type OutOfMemory struct {
	Message string
	figures spec.OutOfMemoryError
	read    bool // those that only the message has
}

func (e *OutOfMemory) Error() string { return e.Message }

// Is is for errors.Is.
func (e *OutOfMemory) Is(target error) bool { return target == spec.ErrOutOfMemory }

// As is for errors.As. The message is read when somebody asks for the figures.
func (e *OutOfMemory) As(target any) bool {
	to, wanted := target.(**spec.OutOfMemoryError)
	if !wanted {
		return false
	}
	if !e.read {
		e.readMessage()
	}
	*to, e.read = &e.figures, true
	return true
}

// A Refusal is any other error of PyTorch's own: a check or an assertion that failed. Most
// misuse ends in one.
type Refusal struct{ Message string }

func (e *Refusal) Error() string { return e.Message }

// Internal reports whether it is an assertion, which should not fail whatever a caller does.
func (e *Refusal) Internal() bool { return strings.Contains(e.Message, "INTERNAL ASSERT FAILED") }
