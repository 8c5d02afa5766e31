package torch

import (
	"path/filepath"

	"gaugeblock/spec"
	"gaugeblock/tests/golden"
	"gaugeblock/torchimpl"
)

// New makes PyTorch's allocator, with the settings that the header asks for. It is a
// replay.Factory; torchimpl.Load comes before.
func New(driver spec.Driver, h *spec.TraceHeader) (spec.Allocator, error) {
	if h.Geometry != (spec.Geometry{}) && h.Geometry != spec.DefaultGeometry() {
		return nil, &spec.NotSupportedError{Op: "geometry", Reason: "PyTorch's is its own"}
	}
	return torchimpl.New(driver, h.Settings)
}

// Beside finds PyTorch in the folder shared/torch beside the project; see torchimpl.Find.
func Beside(work string) (torchimpl.Options, error) {
	root, err := golden.Root()
	if err != nil {
		return torchimpl.Options{}, err
	}
	folder := filepath.Join(root, "..", "shared", "torch")
	return torchimpl.Find(folder, work)
}
