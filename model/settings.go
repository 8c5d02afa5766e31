package model

import (
	"math"

	"gaugeblock/spec"
)

// SetMemoryFraction limits the reserved bytes to a fraction of the device's memory; 1 removes the
// limit, unless FullFractionLimits. If more is reserved already nothing is released, but no segment
// is allocated either.
func (s State) SetMemoryFraction(fraction float64) (State, Result) {
	if !(fraction >= 0 && fraction <= 1) {
		return s, Result{Err: &spec.InvalidArgumentError{Op: "set_memory_fraction", Reason: "not in [0, 1]"}}
	}
	s.setFraction(fraction)
	if s.Rules.FullFractionLimits && fraction == 1 {
		s.Limited, s.Limit = true, s.Memory
	}
	return s, Result{}
}

func (s *State) setFraction(fraction float64) {
	s.Limited, s.Limit = false, 0
	if fraction < 1 {
		bytes := fraction * float64(s.Memory)
		if s.Rules.LimitRounded {
			bytes = math.Floor(bytes + 0.5)
		}
		s.Limited, s.Limit = true, uint64(bytes)
	}
}

// Configure applies a string of settings, which package spec/settings reads. A string
// with an error changes nothing.
func (s State) Configure(text string) (State, Result) {
	cfg, err := s.Rules.Settings.Apply(s.Config, text, s.Geometry)
	if err != nil {
		return s, Result{Err: err}
	}
	s.Config = cfg
	return s, Result{}
}
