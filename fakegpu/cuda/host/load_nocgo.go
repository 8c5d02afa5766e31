//go:build !cgo || !linux

package host

import (
	"errors"

	"gaugeblock/fakegpu"
)

// Available: the libraries can be loaded into this program.
const Available = false

var errUnavailable = errors.New("the libraries of the fake GPU cannot be loaded: this program was built without cgo, or not for Linux")

// A Process is one process's view of a fake machine.
type Process struct {
	GPU          *fakegpu.GPU
	CallFunction func(function, argument uint64)
}

// NewProcess is a process that no library will see.
func NewProcess(gpu *fakegpu.GPU) *Process { return &Process{GPU: gpu} }

// FromEnvironment makes no machine.
func FromEnvironment(func(string) string) (*Process, error) { return nil, errUnavailable }

// Attach makes a process the one that the libraries see; there are none.
func Attach(*Process) {}

// Load loads no libraries.
func Load(string) error { return errUnavailable }

// Answer performs nothing.
func (*Process) Answer(int32, *[8]uint64, [][]byte) (int32, [][]byte) { return 0, nil }

// Settle does nothing.
func (*Process) Settle() {}

// GivesBack: there are no calls.
func GivesBack(int32) (call string, word int) { return "", 0 }
