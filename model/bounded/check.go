package bounded

import (
	"fmt"

	"gaugeblock/model"
	"gaugeblock/model/explore"
	"gaugeblock/model/tlc"
	"gaugeblock/spec/trace"
)

// A Module is the counterpart of a TLA+ module in tla/.
type Module interface {
	explore.Specification[*model.State]

	// Text is the canonical text of a state; see tlc.CanonicalState.
	Text(to []byte, s *model.State) []byte

	// LeastKey appends the least of the keys of the states that differ from a state only
	// in the numbers of streams, pools and threads.
	LeastKey(to []byte, s *model.State) []byte

	// Trace is a path through states as a trace for "gaugeblock replay".
	Trace(name string, steps []explore.Step[*model.State]) (trace.Header, []trace.Op, error)

	// Tracer writes such a trace step by step.
	Tracer(name string) *Tracer

	// property adds the property with a name to the options. It reports whether there
	// is one.
	property(name string, fair [][]int, to *explore.Options[*model.State]) bool

	// always are the names of the properties that hold at all bounds.
	always() []string

	// fairness has the weakly fair actions of a specification, each as its labels.
	fairness(specification string) (fair [][]int, known bool)
}

// A Check is a configuration that can be explored. Options.Checked lists its properties
// that can fail, Options.ByConstruction those that cannot.
type Check struct {
	Module  Module
	Options explore.Options[*model.State] // with the properties of the configuration
}

// modules has the modules by their names in tla/configurations.json.
var modules = map[string]func(*tlc.Config) (Module, error){
	"core":       openCachingAllocator,
	"pools":      func(c *tlc.Config) (Module, error) { return openPrivatePools(c) },
	"checkpoint": func(c *tlc.Config) (Module, error) { return openCheckpoint(c) },
	"two_step":   func(c *tlc.Config) (Module, error) { return openTwoStepMalloc(c) },
	"current":    openCurrentStream,
	"pool_cache": openPoolCache,
	"settings":   openSettings,
	"garbage":    openGarbageCollection,
	"callbacks":  openNeedMemory,
	"faults":     openFaults,

	"pool_faults":       openPoolFaults,
	"capture_faults":    openCaptureFaults,
	"two_faults":        openTwoFaults,
	"checkpoint_faults": openCheckpointFaults,
	"two_step_faults":   openTwoStepFaults,
}

// NewCheck is the check of a configuration of a module ("core"). Constants, specifications
// and properties that the model does not have are errors.
func NewCheck(module string, c *tlc.Config) (*Check, error) {
	open, known := modules[module]
	if !known {
		return nil, fmt.Errorf("%s: there is no module %q", c.File, module)
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

// CheckAlways adds the properties that hold at all bounds and that the configuration does
// not name. Configurations with many states name few, to save TLC's time.
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

// Successor is the state that a label leads to; nil if there is no such step.
func Successor(m Module, from *State, label string) (next *State) {
	m.Next(from, func(l int, s *State) {
		if m.Labels()[l] == label {
			next = s
		}
	})
	return next
}

// Successors has the state that each possible step leads to, by the step's label.
func Successors(m Module, from *State) map[string]*State {
	next := map[string]*State{}
	m.Next(from, func(l int, s *State) { next[m.Labels()[l]] = s })
	return next
}
