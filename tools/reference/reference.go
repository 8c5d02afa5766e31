// Package reference makes gaugeblock's own allocator for those who ask for one by a
// replay.Factory. It is a package of its own so that the kit that examines
// allocators (conformance, tools/replay) knows none of them, not even this one.
package reference

import (
	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// New makes the reference allocator, with the settings and the geometry that the
// header asks for, and the rules of the release that it tells. It is a replay.Factory.
func New(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
	options, err := optionsOf(h)
	if err != nil {
		return nil, err
	}
	return alloc.New(driver, options)
}

func optionsOf(h *trace.Header) (alloc.Options, error) {
	version, _, err := upstream.OfTrace(h.Release, h.Source)
	return alloc.Options{Geometry: h.Geometry, Settings: h.Settings, Rules: version.Rules}, err
}

// Follows is New by the rules of a release, whatever the header tells.
func Follows(r upstream.Release) func(spec.Driver, *trace.Header) (spec.Allocator, error) {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		return alloc.New(driver, alloc.Options{Geometry: h.Geometry, Settings: h.Settings, Rules: r.Rules})
	}
}

// A Mallocs makes the mallocs of an allocator, by the function that it is given.
type Mallocs func(r spec.Request, malloc func(spec.Request) (spec.Ptr, error)) (spec.Ptr, error)

// NewWithMallocs is New for an allocator whose mallocs are made in another way.
func NewWithMallocs(by Mallocs) func(spec.Driver, *trace.Header) (spec.Allocator, error) {
	return func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
		options, err := optionsOf(h)
		if err != nil {
			return nil, err
		}
		a, err := alloc.New(driver, options)
		return &withMallocs{a, by}, err
	}
}

type withMallocs struct {
	*alloc.Allocator
	by Mallocs
}

// Malloc implements spec.Allocator.
func (a *withMallocs) Malloc(r spec.Request) (spec.Ptr, error) { return a.by(r, a.Allocator.Malloc) }
