package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/spec/trace"
)

// A Source makes up a program for whoever performs it in another way than Run does.
type Source struct{ generator *Generator }

// NewSource makes up the header of a program, which alter may change, and a source of its
// operations. There is no misuse among them.
func (a *Area) NewSource(c Choices, seed uint64, alter func(*trace.Header)) (*Source, trace.Header) {
	plain := *a
	plain.Misuse = nil
	h := plain.draw(c, seed)
	if alter != nil {
		alter(&h)
	}
	return &Source{newGenerator(c, newProgram(&plain, h), &plain)}, h
}

// Program is the one that is being made up.
func (s *Source) Program() *Program { return s.generator.program }

// Next is the next operation.
func (s *Source) Next() trace.Op { return s.generator.Next() }

// Make is Next where the operation is going to be.
func (s *Source) Make(op *trace.Op) { s.generator.make(op) }

// Did records what came of it.
func (s *Source) Did(op *trace.Op, out *perform.Result) { s.generator.program.Did(op, out) }

// NewProgram is a program of the area, with the header, that has done nothing yet.
func (a *Area) NewProgram(h trace.Header) *Program { return newProgram(a, h) }
