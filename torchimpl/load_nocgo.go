//go:build !cgo || !linux

package torchimpl

import "gaugeblock/spec"

// Load loads PyTorch's libraries into this program, which needs cgo.
func Load(Options) error {
	return &UnavailableError{"this program was built without cgo, or not for Linux"}
}

// New makes an allocator, which needs cgo.
func New(spec.Driver, string) (spec.Allocator, error) { return nil, Load(Options{}) }
