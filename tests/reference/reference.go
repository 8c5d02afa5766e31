// Package reference makes gaugeblock's own allocator for those who ask for one by a
// replay.Factory. It is a package of its own so that the kit that examines
// allocators (tests/conformance, tests/replay) knows none of them, not even this one.
package reference

import (
	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// New makes the reference allocator, with the settings and the geometry that the
// header asks for. It is a replay.Factory.
func New(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	return alloc.New(driver, alloc.Options{Geometry: h.Geometry, Settings: h.Settings})
}
