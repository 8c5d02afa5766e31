package conformance

import (
	"gaugeblock/spec"
	"gaugeblock/tests/replay"
)

// A Source makes up a program for whoever performs it in another way than Run does.
type Source struct{ generator *Generator }

// NewSource makes up the header of a program, which alter may change, and a source of its
// operations. There is no misuse among them.
func (a *Area) NewSource(c Choices, seed uint64, alter func(*spec.TraceHeader)) (*Source, spec.TraceHeader) {
	plain := *a
	plain.Misuse = nil
	h := plain.draw(c, seed)
	if alter != nil {
		alter(&h)
	}
	return &Source{newGenerator(c, newProgram(&plain, h), &plain)}, h
}

// Next is the next operation.
func (s *Source) Next() spec.Op { return s.generator.Next() }

// Did records what came of it.
func (s *Source) Did(op *spec.Op, out *replay.Performed) { s.generator.program.Did(op, out) }

// NewProgram is a program of the area, with the header, that has done nothing yet.
func (a *Area) NewProgram(h spec.TraceHeader) *Program { return newProgram(a, h) }
