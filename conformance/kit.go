package conformance

import (
	"slices"
	"testing"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// The kit: everything in this package, put at the service of one allocator.
//
//	func TestAllocator(t *testing.T) {
//		conformance.Run(t, func(driver spec.Driver, h *trace.Header) (spec.Allocator, error) {
//			return mine.New(driver)
//		}, conformance.Caching)
//	}
//
// It runs random programs through the allocator on the fake device, of every kind that
// the allocator has the abilities for, some with every driver call failing in turn. It
// does not stop at the first thing that is wrong: each rule that is broken is reported
// once, with the shortest program that breaks it, and the search goes on for others.
// conformance/README.md is for authors of allocators.

// Run examines an allocator and fails the test if it does not reach the level. The
// report goes to the test's log.
func Run(t testing.TB, factory perform.Factory, level Level, options ...Option) *Report {
	t.Helper()
	report, err := Examine(factory, level, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", report)
	if report.Reached < level {
		t.Errorf("the allocator is %v, %v was asked for", report.Reached, level)
	}
	return report
}

// Examine does so outside of a test. The error is about the examination: the allocator
// cannot be made, or a trace cannot be written.
func Examine(factory perform.Factory, level Level, options ...Option) (*Report, error) {
	k := &kit{factory: factory, level: level, operations: 60_000, seed: 1}
	for _, option := range options {
		option(k)
	}
	if level >= Exact && k.against == nil {
		return nil, &spec.InvalidArgumentError{Op: "conformance", Reason: "level exact needs to know what to compare with: see Against"}
	}
	if err := k.discover(); err != nil {
		return nil, err
	}
	k.report.Asked = level
	if k.report.Replay = k.again != nil; k.report.Replay {
		err := k.perform()
		k.report.conclude()
		return &k.report, err
	}
	for _, area := range k.areas {
		if err := k.search(area); err != nil {
			return nil, err
		}
	}
	k.report.conclude()
	return &k.report, nil
}

// kit is one examination.
type kit struct {
	factory    perform.Factory
	level      Level
	against    perform.Factory
	operations int
	seed       uint64
	settings   []string
	without    []trace.OpKind
	trusting   bool
	align      uint64
	traces     string
	contract   *Contract // nil: PyTorch's, and nothing beside it
	hardware   bool
	ignored    []string // names of rules
	keeps      Kept
	faults     []spec.FaultSpec
	limited    bool
	mayKeep    uint64
	roomy      bool
	again      *known // nil: programs are made up
	progress   func(done int)
	devices    int // of programs at most; 0: as many as an area has

	areas    []*Area
	known    []string // classes that were found
	hopeless bool     // an area was not searched to its end
	report   Report
}

// options are those of the trials of an area.
func (k *kit) options(area *Area) Options {
	o := Options{
		New: k.factory, Every: 16, Align: k.align, Overlook: k.overlooks,
		caching: area.Name == cachingArea.Name, trusting: k.trusting,
		keeps: k.keeps, faults: k.faults, limited: k.limited, mayKeep: k.mayKeep, roomy: k.roomy,
	}
	if k.level >= Exact {
		o.Against = k.against
	}
	return o
}

func (k *kit) found(class string) bool { return slices.Contains(k.known, class) }

// overlooks: what was found is not reported again, and what belongs to a higher level, or to
// a rule that is left out, is not looked at.
func (k *kit) overlooks(class string) bool {
	rule, ok := ruleOf(class)
	return k.found(class) || ok && (rule.Level > k.level || slices.Contains(k.ignored, rule.Name))
}
