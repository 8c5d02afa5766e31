package graphtree

import "slices"

// A call, and the decision what to make of it.
//
//	may the path end? ────────────────────────────── ending.go, generation.go
//	first call, or the path has a warm-up ──▶ warm up          warmup.go
//	the path is being recorded ─────────────▶ record           record.go
//	a recorded child fits ──────────────────▶ launch it        execute.go
//	may the path end now? then look again among the roots
//	else ───────────▶ set the pool back, ───▶ record           checkpoint.go
//
// That a launched path may end is asked late, since every call would have to look
// at all outputs otherwise; the usual case is that a child fits.

// Call runs a function in whichever way is right, and returns its outputs, which
// are the caller's to release. The inputs are the function's from here on, also
// when the call fails: who wants to keep one passes on a Share of it.
//
// The error is ErrOverwritten if an input's memory has been given to a later run, a
// *spec.InvalidStateError if the program holds what it let go when the function was
// recorded, a *spec.InvalidArgumentError if an input has another size than it had
// then, or what the body, the allocator or the device returned. After an error the
// path is as it was before, or has ended.
func (m *Manager) Call(f *Function, inputs ...*Tensor) ([]*Tensor, error) {
	if m.keeper == 0 {
		return nil, m.abandon(inputs, errShutDown)
	}
	outputs, err := m.call(f, slices.Clone(inputs))
	if err != nil {
		return nil, m.abandon(outputs, err)
	}
	m.ran(f)
	return outputs, nil
}

func (m *Manager) call(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	if m.state == Recording || m.state == WarmUp {
		if err := m.endPath(); err != nil {
			return nil, m.abandon(inputs, err)
		}
	}
	if _, err := ranges(inputs); err != nil {
		return nil, m.abandon(inputs, err) // perhaps the path's end took it
	}
	switch {
	case m.overLimit(f):
		return m.runOutside(f, inputs)
	case !m.warm[f] || m.state == WarmUp:
		if err := m.catchUp(); err != nil {
			return nil, m.abandon(inputs, err)
		}
		return m.warmUp(f, inputs)
	case m.state == Recording:
		return m.record(f, inputs)
	}
	return m.launch(f, inputs)
}

// launch runs a recorded child, or records a new one.
func (m *Manager) launch(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	moved := false
	for _, child := range m.children()[f] {
		switch child.compare(inputs) {
		case fits:
			return m.execute(child, inputs)
		case elsewhere:
			moved = true
		}
	}
	if m.current != nil && len(m.roots[f]) > 0 {
		if err := m.endPath(); err != nil {
			return nil, m.abandon(inputs, err)
		}
		if m.current == nil {
			return m.call(f, inputs)
		}
	}
	if moved {
		m.moved[occasion{m.current, f}]++
		if m.overLimit(f) {
			return m.runOutside(f, inputs)
		}
	}
	m.fails++
	if err := m.endPath(); err != nil {
		return nil, m.abandon(inputs, err)
	}
	if err := m.catchUp(); err != nil {
		return nil, m.abandon(inputs, err)
	}
	return m.record(f, inputs)
}

// catchUp lets the allocator know what launches have done, before it is asked for
// memory of the pool.
func (m *Manager) catchUp() error {
	if m.state != Execution {
		return nil
	}
	return m.setBack()
}
