package conformance

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// One program that was found before, performed again: whoever has mended an allocator wants
// to know whether it was that.

// Again performs one program that was written by an examination (Traces), instead of
// searching. The contract must be the one of that examination.
func Again(h trace.Header, ops []trace.Op) Option {
	return func(k *kit) { k.again = &known{h, ops} }
}

// known is a program that is known.
type known struct {
	header trace.Header
	ops    []trace.Op
}

// perform performs the known program in its area.
func (k *kit) perform() error {
	h := k.again.header
	i := slices.IndexFunc(k.areas, func(a *Area) bool { return a.Name == h.Family })
	if i < 0 {
		return &spec.InvalidArgumentError{Op: "conformance", Reason: fmt.Sprintf(
			"the program is of area %q, which is not searched with this allocator, contract and level; name those with which it was found", h.Family)}
	}
	ops := slices.Clone(k.again.ops)
	if k.trusting { // a failure that the trace tells of was no misuse
		for i := range ops {
			ops[i].Expect.Error = ""
		}
	}
	o := k.options(k.areas[i])
	o.Every = 1
	r := k.areas[i].replayOps(h, uint64(h.Seed), ops, o)
	k.report.Searched = []Searched{{
		Area: h.Family, Operations: r.Checked, Programs: 1,
		What: fmt.Sprintf("the program of the trace, %d of whose %d operations were performed", r.performed, len(ops)),
	}}
	if r.Failure == nil {
		return nil
	}
	rule, ok := ruleOf(r.Failure.Class)
	if !ok {
		return fmt.Errorf("the kit is at its end: %w", r.Failure)
	}
	k.report.Violations = []Violation{{
		Rule: rule, Found: r.Failure.Detail, Area: h.Family, Seed: uint64(h.Seed), After: r.Failure.Found, failure: r.Failure,
	}}
	return nil
}
