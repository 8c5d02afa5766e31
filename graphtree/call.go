package graphtree

import "slices"

// A call, and what it becomes:
//
//	can the path end? ────────────────────────────── ending.go, generation.go
//	first call, or the path has a warm-up ──▶ warm up          warmup.go
//	the path is being recorded ─────────────▶ record           record.go
//	a recorded child fits ──────────────────▶ launch it        execute.go
//	can the path end now? then look again among the roots
//	else ───────────▶ restore the pool, ────▶ record           checkpoint.go
//
// Whether a path of launches can end is tested late, since the test looks at all
// outputs. Usually a child fits.

// Call warms a function up, records it, or launches a recording of it, and returns its
// outputs, which the caller must release. The function takes over the inputs, also when
// the call fails. A caller that needs an input afterwards passes a Share of it.
//
// The error is ErrOverwritten if an input's memory was allocated to a later run, a
// *spec.InvalidStateError if the program still has a reference that was released when
// the function was recorded, a *spec.InvalidArgumentError if an input has another size
// than it had then, or what the body, the allocator or the device returned. After an
// error the path is as it was before, or has ended.
func (m *Manager) Call(f *Function, inputs ...*Tensor) ([]*Tensor, error) {
	if m.emptyGraph == 0 {
		return nil, m.releaseAfter(inputs, errShutDown)
	}
	outputs, err := m.call(f, slices.Clone(inputs))
	if err != nil {
		return nil, m.releaseAfter(outputs, err)
	}
	m.trackBackward(f)
	return outputs, nil
}

func (m *Manager) call(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	if m.state == Recording || m.state == WarmUp {
		if err := m.tryEndPath(); err != nil {
			return nil, m.releaseAfter(inputs, err)
		}
	}
	if _, err := ranges(inputs); err != nil {
		return nil, m.releaseAfter(inputs, err) // the end of the path may have deallocated one
	}
	switch {
	case m.overLimit(f):
		return m.runOutside(f, inputs)
	case !m.warm[f] || m.state == WarmUp:
		if err := m.updateAllocator(); err != nil {
			return nil, m.releaseAfter(inputs, err)
		}
		return m.warmUp(f, inputs)
	case m.state == Recording:
		return m.record(f, inputs)
	}
	return m.launch(f, inputs)
}

// launch launches a recorded child, or records a new one.
func (m *Manager) launch(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	moved := false
	for _, child := range m.children()[f] {
		switch child.checkInvariants(inputs) {
		case fits:
			return m.execute(child, inputs)
		case inputMismatch:
			moved = true
		}
	}
	if m.current != nil && len(m.roots[f]) > 0 {
		if err := m.tryEndPath(); err != nil {
			return nil, m.releaseAfter(inputs, err)
		}
		if m.current == nil {
			return m.call(f, inputs)
		}
	}
	if moved {
		m.moved[callSite{m.current, f}]++
		if m.overLimit(f) {
			return m.runOutside(f, inputs)
		}
	}
	m.fails++
	if err := m.tryEndPath(); err != nil {
		return nil, m.releaseAfter(inputs, err)
	}
	if err := m.updateAllocator(); err != nil {
		return nil, m.releaseAfter(inputs, err)
	}
	return m.record(f, inputs)
}

// updateAllocator restores the pool after launches, before memory of the pool is
// allocated.
func (m *Manager) updateAllocator() error {
	if m.state != Execution {
		return nil
	}
	return m.applyCheckpoint()
}
