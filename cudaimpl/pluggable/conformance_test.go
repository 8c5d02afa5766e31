package pluggable_test

import (
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/conformance"
	"gaugeblock/cudaimpl/pluggable"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// pair is a pair of functions that can be closed, which is no business of the pair.
type pair struct {
	*pluggable.Allocator
	inner *alloc.Allocator
}

func (p pair) Close() error { return p.inner.Close() }

// TestConformance: the reference behind a pair of functions is still a caching allocator, as
// far as that shows through the pair.
func TestConformance(t *testing.T) {
	report := conformance.Run(t, func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		if h.Devices > 1 {
			return nil, &spec.NotSupportedError{Op: "new allocator", Reason: "the hook for uses is not told which device a stream is of"}
		}
		inner, err := alloc.New(driver, alloc.Options{Geometry: h.Geometry, Settings: h.Settings})
		if err != nil {
			return nil, err
		}
		a, err := pluggable.New((&calls{}).functions(inner), driver.DeviceCount())
		return pair{a, inner}, err
	}, conformance.Caching, conformance.Operations(10_000), conformance.Settings(""))
	if len(report.Searched) < 4 {
		t.Errorf("only %d areas were searched", len(report.Searched))
	}
}
