package torch

import (
	"path/filepath"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// New makes PyTorch's allocator, with the settings that the header asks for. It is a
// replay.Factory; binary.Load comes before.
func New(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	if h.Geometry != (spec.Geometry{}) && h.Geometry != spec.DefaultGeometry() {
		return nil, &spec.NotSupportedError{Op: "geometry", Reason: "PyTorch's is its own"}
	}
	return binary.New(driver, h.Settings)
}

// Beside finds PyTorch in the folder shared/torch beside the project; see binary.Find.
func Beside(work string) (binary.Options, error) {
	root, err := checkout.Root()
	if err != nil {
		return binary.Options{}, err
	}
	folder := filepath.Join(root, "..", "shared", "torch")
	return binary.Find(folder, work)
}
