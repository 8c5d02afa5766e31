package bounded

import (
	"fmt"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec/trace"
)

// A Mirror is a specification that has its like in tla/.
type Module interface {
	explore.Specification[*model.State]

	// Text is the canonical text of a state; see tlc.CanonicalState.
	Text(to []byte, s *model.State) []byte

	// Variants tells the other states that a state is the same as, but for the
	// names of streams.
	Variants(s *model.State, yield func(variant *model.State))

	// Trace is a run through states as "gaugeblock replay" takes it.
	Trace(name string, steps []explore.Step[*model.State]) (trace.Header, []trace.Op, error)

	// property finds what a configuration asks for by name, and adds it to the
	// options. It reports whether there is such a thing.
	property(name string, fair [][]int, to *explore.Options[*model.State]) bool

	// always are the properties that hold whatever the bounds, by name.
	always() []string

	// fairness is what a specification, by its name, says that goes on.
	fairness(specification string) (fair [][]int, known bool)
}

// A Check is a configuration, ready to be explored.
type Check struct {
	Module  Module
	Options explore.Options[*model.State] // what to look for
}

// mirrors are the specifications there are.
var modules = map[string]func(*tlc.Config) (Module, error){
	"core":       openCachingAllocator,
	"pools":      openPrivatePools,
	"checkpoint": openCheckpoint,
	"two_step":   openTwoStepMalloc,
}

// Open readies a configuration for a mirror: "core". Whatever it says that the model
// does not know is an error.
func NewCheck(mirror string, c *tlc.Config) (*Check, error) {
	open, known := modules[mirror]
	if !known {
		return nil, fmt.Errorf("%s: there is no mirror %q", c.File, mirror)
	}
	m, err := open(c)
	if err != nil {
		return nil, err
	}
	check := &Check{Module: m}
	fair, known := m.fairness(c.Specification)
	if !known {
		return nil, fmt.Errorf("%s: the model has no specification %s", c.File, c.Specification)
	}
	for _, names := range [][]string{c.Invariants, c.Properties} {
		for _, name := range names {
			if !m.property(name, fair, &check.Options) {
				return nil, fmt.Errorf("%s: the model has no property %s", c.File, name)
			}
		}
	}
	return check, nil
}

// CheckAlways adds what holds whatever the bounds, if the configuration does not name
// it: TLC is spared that where there are many states.
func (c *Check) CheckAlways() {
	named := map[string]bool{}
	for _, i := range c.Options.Invariants {
		named[i.Name] = true
	}
	for _, s := range c.Options.Steps {
		named[s.Name] = true
	}
	for _, name := range c.Module.always() {
		if !named[name] {
			c.Module.property(name, nil, &c.Options)
		}
	}
}

func openCachingAllocator(c *tlc.Config) (Module, error) {
	b, err := ReadBounds(c)
	if err != nil {
		return nil, err
	}
	return newCachingAllocator(b), nil
}
