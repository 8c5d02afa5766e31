//go:build !cgo || !linux

package cudaimpl

import "gaugeblock/spec"

// What there is of the package in a build without cgo, or for another system than
// Linux: Open, which says so. No GPU is ever made, so nothing else is called.

// A GPU is this process's view of the machine's devices.
type GPU struct {
	spec.Driver
	spec.VirtualMemory
	spec.MemorySharing
	spec.PeerAccess
	spec.Executor
}

// Open fails.
func Open() (*GPU, error) {
	return nil, &UnavailableError{"this was built without cgo, or for another system than Linux; build it with CGO_ENABLED=1 on Linux"}
}

// A Hold keeps a stream's later work from being done, until Release.
type Hold struct{}

// Release lets the stream go on.
func (*Hold) Release() {}

// Hold, Leaks, Close and the rest complete what a GPU is.
func (*GPU) Hold(spec.Device, spec.Stream) (*Hold, error)    { return nil, errAbsent() }
func (*GPU) Leaks() []string                                 { return nil }
func (*GPU) Close() error                                    { return nil }
func (*GPU) DriverVersion() string                           { return "unknown" }
func (*GPU) StreamCaptured(spec.Device, spec.Stream) bool    { return false }
func (*GPU) StreamDevice(s spec.Stream) (spec.Device, error) { return 0, errAbsent() }

func errAbsent() error {
	_, err := Open()
	return err
}
