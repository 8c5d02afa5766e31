package torch

import (
	"cmp"
	"errors"
	"os"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/wheel"
)

// What is PyTorch's in a process. A test has another allocator in its place.
var (
	newPyTorch    perform.Factory = New
	loadPyTorch                   = binary.Load
	loadedRelease                 = binary.LoadedRelease
)

// New makes PyTorch's allocator, with the settings that the header asks for. It is a
// replay.Factory; binary.Load comes before.
func New(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	if h.Geometry != (spec.Geometry{}) && h.Geometry != spec.DefaultGeometry() {
		return nil, &spec.NotSupportedError{Op: "geometry", Reason: "PyTorch's is its own"}
	}
	return binary.New(driver, h.Settings, rulesOf(h).Settings)
}

// Find finds PyTorch: a release in the cache, by its version, or what binary.Find finds.
func Find(where, work string) (binary.Options, error) {
	if !wheel.IsVersion(where) {
		return binary.Find(where, work)
	}
	dir, err := wheel.Find(where)
	if missing, is := errors.AsType[*wheel.MissingError](err); is {
		return binary.Options{}, &binary.UnavailableError{Reason: missing.Error()}
	}
	if err != nil {
		return binary.Options{}, err
	}
	return binary.Find(dir, work)
}

// ForTests finds the release that tests use: 2.11 in the cache, or what TORCH says.
func ForTests(work string) (binary.Options, error) {
	return Find(cmp.Or(os.Getenv("TORCH"), "2.11"), work)
}
