package torch

import (
	"errors"
	"slices"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
)

// A program in which something differs has some hundred operations, of which a handful
// matter. minimise leaves out what it can: large pieces first, then single operations, and
// pairs when few are left. A shorter program counts if the same thing differs in it, or if
// PyTorch crashes as before. What an operation needs that was left out is left out as well.

// minimiser shortens one program.
type minimiser struct {
	worker *worker
	area   string
	best   Outcome
	left   int // operations that may still be performed

	perform func(ops []trace.Op) (Outcome, error) // a candidate, up to its difference
}

// effort is how many operations are performed to shorten one program.
const effort = 600_000

// minimise returns the shortest outcome of the same kind that it finds.
func minimise(w *worker, area string, o Outcome) (Outcome, error) {
	m := &minimiser{worker: w, area: area, best: o, left: effort}
	m.perform = m.onBoth
	if err := m.lookCloser(); err != nil || m.best.Row != "" {
		return m.best, err
	}
	return m.best, m.minimise()
}

func (m *minimiser) minimise() error {
	for before := -1; before != len(m.best.Ops) && m.left > 0; {
		before = len(m.best.Ops)
		if err := errors.Join(m.dropPieces(), m.simplify()); err != nil {
			return err
		}
	}
	return m.dropPairs()
}

// lookCloser performs the program with a look at the layout after every operation, which
// shows what differs first, and may show which row explains it.
func (m *minimiser) lookCloser() error {
	r, _, err := m.worker.do(&job{Area: m.area, Known: true, Header: m.best.Header, Ops: m.best.Ops})
	if err == nil && len(r.Outcomes) > 0 {
		m.best = r.Outcomes[0]
	}
	return err
}

// kind is what two differences must have in common.
func (o *Outcome) kind() [2]string {
	if o.Difference == nil {
		return [2]string{}
	}
	return [2]string{o.Difference.What, o.Row}
}

// try performs a candidate, and keeps it if it ends alike.
func (m *minimiser) try(ops []trace.Op) error {
	if m.left <= 0 {
		return nil
	}
	o, err := m.perform(ops)
	m.left -= len(ops)
	if err == nil && o.kind() == m.best.kind() && len(o.Ops) <= len(m.best.Ops) {
		m.best = o
	}
	return err
}

// onBoth performs a candidate on the reference and PyTorch's allocator.
func (m *minimiser) onBoth(ops []trace.Op) (o Outcome, err error) {
	r, crash, err := m.worker.do(&job{Area: m.area, Known: true, Header: m.best.Header, Ops: ops})
	switch {
	case err != nil:
	case crash != nil:
		m.left -= 5000 // a new worker takes its time
		if crash.Hangs {
			m.left -= 100_000 // and so does patience
		}
		o = Outcome{Header: m.best.Header, Difference: crash.difference(), Every: 1}
		o.Ops, err = performed(m.area, o.Header, ops, crash.Operation)
	case len(r.Outcomes) > 0:
		o = r.Outcomes[0]
	}
	return o, err
}

// performed lists the first operations of a program that make sense when it is their turn, by
// the reference alone.
func performed(area string, h trace.Header, ops []trace.Op, first int) (list []trace.Op, err error) {
	player, err := perform.New(&h, reference.New)
	if err != nil {
		return nil, err
	}
	program := newProgram(conformance.Find(area), h)
	for i := 0; i < len(ops) && len(list) < first; i++ {
		op := ops[i]
		op.Expect = trace.Expectation{}
		if !program.Prepare(&op) {
			continue
		}
		list = append(list, op)
		out := player.Perform(&op)
		program.Did(&op, &out)
	}
	return list, nil
}

func (m *minimiser) dropPieces() error {
	for size := max(len(m.best.Ops)/2, 1); size >= 1; size /= 2 {
		for end := len(m.best.Ops); end > 0; end -= size {
			end = min(end, len(m.best.Ops))
			if err := m.try(slices.Concat(m.best.Ops[:max(end-size, 0)], m.best.Ops[end:])); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *minimiser) dropPairs() error {
	const few = 30
	if len(m.best.Ops) > few {
		return nil
	}
	for i := 0; i < len(m.best.Ops); i++ {
		for j := i + 1; j < len(m.best.Ops); j++ {
			ops := m.best.Ops
			if err := m.try(slices.Concat(ops[:i], ops[i+1:j], ops[j+1:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// simplify makes single operations simpler: smaller sizes, the first stream, no thread.
func (m *minimiser) simplify() error {
	const few = 60
	if len(m.best.Ops) > few {
		return nil
	}
	for i := 0; i < len(m.best.Ops); i++ {
		for _, simpler := range []func(op *trace.Op) bool{
			func(op *trace.Op) bool { return shrink(op, 512) },
			func(op *trace.Op) bool { return shrink(op, 2*spec.MiB) },
			func(op *trace.Op) bool { changed := op.Stream > 0; op.Stream = 0; return changed },
			func(op *trace.Op) bool { changed := op.Thread > 0; op.Thread = 0; return changed },
			func(op *trace.Op) bool { changed := op.Current != nil; op.Current = nil; return changed },
			func(op *trace.Op) bool {
				changed := len(op.Reads)+len(op.Writes) > 0 && op.Kind == trace.OpKernel
				op.Reads, op.Writes = nil, nil
				return changed
			},
		} {
			if i >= len(m.best.Ops) {
				return nil
			}
			ops := slices.Clone(m.best.Ops)
			if simpler(&ops[i]) {
				if err := m.try(ops); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func shrink(op *trace.Op, to uint64) bool {
	if op.Kind != trace.OpMalloc || op.Size <= to {
		return false
	}
	op.Size = to
	return true
}
