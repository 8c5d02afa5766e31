package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"gaugeblock/spec/trace"
)

// Result is what came of one program, or of many.
type Result struct {
	Checked int // operations
	Labels  Coverage
	Failure *Failure // nil: everything held

	performed int // operations of a program that is known
}

// Run makes up a program of length operations and runs it to its end. The same seed gives the same
// program, as far as the allocator gives the same answers.
func (a *Area) Run(seed uint64, length int, o Options) Result {
	return a.RunWith(Seeded(seed), seed, length, o)
}

// RunWith does so with choices from elsewhere; the seed is only what the program is
// called by.
func (a *Area) RunWith(c Choices, seed uint64, length int, o Options) Result {
	t, err := newTrial(a, a.draw(c, seed), o)
	if err != nil {
		return Result{Failure: &Failure{Area: a.Name, Seed: seed, Class: classNotMade, Detail: err.Error()}}
	}
	g := newGenerator(c, t.program, a)
	var f *Failure
	for f == nil && len(t.ops) < length {
		if f = t.step(g.Next()); f == nil && chance(c, misuseShare) {
			f = t.probe()
		}
	}
	if f == nil {
		f = t.windDown()
	}
	return t.result(seed, f)
}

func (t *Trial) result(seed uint64, f *Failure) Result {
	if f != nil {
		f.Seed = seed
	}
	return Result{Checked: t.checked, Labels: t.labels, Failure: f}
}

// replayOps runs a program that is known: those of its operations that it may
// perform. The others are left out.
func (a *Area) replayOps(h trace.Header, seed uint64, ops []trace.Op, o Options) Result {
	t, err := newTrial(a, h, o)
	if err != nil {
		return Result{Failure: &Failure{Area: a.Name, Seed: seed, Class: classNotMade, Detail: err.Error()}}
	}
	performed := 0
	for i := range ops {
		op := ops[i]
		if !t.program.Prepare(&op) {
			continue
		}
		performed++
		if f := t.step(op); f != nil {
			r := t.result(seed, f)
			r.performed = performed
			return r
		}
		if o.probing {
			if f := t.probe(); f != nil {
				return t.result(seed, f)
			}
		}
		if t.inconclusive(&op) {
			return t.result(seed, nil)
		}
	}
	r := t.result(seed, t.windDown())
	r.performed = performed
	return r
}

// inconclusive reports whether a fault has met the program itself, in a call that it
// made of the driver. Then there is nothing to be learnt about the allocator.
func (t *Trial) inconclusive(op *trace.Op) bool {
	return t.faulted && t.answered != nil && kindOf(op.Kind).callsDriver
}

// Write writes the program of a failure into a directory, as a trace that "gaugeblock
// replay" takes, and returns the name of the file. The trace says of operations
// before the last one how they failed, if they did: they may, and what they would
// have made is not there.
func (f *Failure) Write(dir string) (string, error) {
	return f.writeAs(dir, fmt.Sprintf("%s-%d.jsonl", f.Area, f.Seed))
}

func (f *Failure) writeAs(dir, name string) (string, error) {
	ops := slices.Clone(f.Ops)
	for i := range max(len(ops)-1, 0) {
		ops[i].Expect.Error = f.answers[i]
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if err := trace.WriteFile(path, f.Header, ops, &trace.End{}); err != nil {
		return "", fmt.Errorf("writing the counterexample: %w", err)
	}
	return path, nil
}
