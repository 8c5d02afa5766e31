package cudaimpl

import (
	"errors"
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// ErrContextLost is wrapped by the errors after which CUDA serves a process no
// more: every later call fails in the same way, and nothing short of a new process
// helps.
var ErrContextLost = errors.New("the CUDA context is lost")

// UnavailableError says why there is no GPU to work with.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return "cuda: " + e.Reason }

// Unwrap makes errors.Is(err, spec.ErrNotSupported) hold.
func (e *UnavailableError) Unwrap() error { return spec.ErrNotSupported }

// CUDA's numbers of errors (CUresult), those that are told apart here.
const (
	invalidValue         = 1
	outOfMemory          = 2
	invalidDevice        = 101
	alreadyMapped        = 208
	peerUnsupported      = 217
	invalidHandle        = 400
	illegalState         = 401
	notReady             = 600
	peerAlreadyEnabled   = 704
	notPermitted         = 800
	notSupported         = 801
	captureUnmatched     = 903
	errorOfThisPackage   = 999 // CUDA_ERROR_UNKNOWN
	captureImplicitError = 906
)

// sticky are the errors that lose the context: uncorrectable memory and link errors,
// time-outs, and everything that a kernel can do wrong.
var sticky = []int{214, 220, 700, 702, 710, 714, 715, 716, 717, 718, 719, 720, 721}

// kindOf is what errors.Is finds behind a number.
func kindOf(number int) error {
	switch {
	case number == outOfMemory:
		return spec.ErrDriverOutOfMemory
	case number == notSupported, number == notPermitted, number == peerUnsupported:
		return spec.ErrNotSupported
	case slices.Contains(sticky, number):
		return ErrContextLost
	}
	return nil
}

// newError makes the error of a call: the method of the contract, the function of
// the driver that failed, CUDA's number and name of the error and its text.
func newError(method, function string, number int, name, text string) error {
	detail := fmt.Sprintf("%s: %s", function, text)
	if slices.Contains(sticky, number) {
		detail += "; the context is lost, every later call fails"
	}
	return &spec.DriverError{Call: method, Name: name, Code: number, Detail: detail, Kind: kindOf(number)}
}
