//go:build !cgo || !linux

package binary

import (
	"gaugeblock/spec"
	"gaugeblock/spec/settings"
)

// missing says why nothing can be loaded into this program.
const missing = "this program was built without cgo, or not for Linux"

// HasArena reports whether the process has the addresses that PyTorch's objects get.
func HasArena() bool { return false }

// LoadedRelease is the name of the release that has been loaded into this process.
func LoadedRelease() string { return "" }

// Load loads PyTorch's libraries into this program, which needs cgo.
func Load(Options) error { return &UnavailableError{missing} }

// New makes an allocator, which needs cgo.
func New(spec.Driver, string, settings.Grammar) (spec.Allocator, error) { return nil, Load(Options{}) }
