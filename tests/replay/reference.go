package replay

import (
	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// Reference makes gaugeblock's own allocator.
func Reference(driver spec.Driver, h *spec.TraceHeader) (spec.Allocator, error) {
	return alloc.New(driver, alloc.Options{Geometry: h.Geometry, Settings: h.Settings})
}
