package graphtree

// Generations. A program runs the same functions many times: steps of a training loop,
// requests that are served. The outputs of one round are usually not needed in the
// next, and the next round's graphs write to their memory. So outputs that are still
// referenced do not matter once a new generation has begun.
//
// The program says with MarkStep that one has begun. If it never does, every invocation
// of a compiled model begins one. That is wrong between a forward pass and its backward
// pass, which needs what the forward pass left. Therefore an invocation does not count
// after a forward function has run, until a backward function has. One backward
// function is enough: not every forward pass is followed by its own.

// Generations counts generations. One is shared by the managers of all devices. The
// zero value is ready. It is not for use by several goroutines at once.
type Generations struct{ steps, invocations uint64 }

// MarkStep begins a new step. After the first call only steps count.
func (g *Generations) MarkStep() { g.steps++ }

// NewInvocation is called when a compiled model is invoked from outside.
func (g *Generations) NewInvocation() { g.invocations++ }

// generation identifies a generation.
type generation struct {
	marked bool
	number uint64
}

func (g *Generations) now() generation {
	if g.steps > 0 {
		return generation{marked: true, number: g.steps}
	}
	return generation{number: g.invocations}
}

// newGeneration reports whether a generation has begun since the last call that may use
// the memory of the present path.
func (m *Manager) newGeneration() bool {
	now := m.generations.now()
	if now == m.generation {
		return false
	}
	return now.marked || !m.pendingBackward
}

// BeginBackward says that a backward pass has begun without a Backward function.
func (m *Manager) BeginBackward() { m.pendingBackward = false }

// trackBackward records whether a backward pass is pending after a function has run.
func (m *Manager) trackBackward(f *Function) {
	switch f.Mode {
	case Forward:
		m.pendingBackward = true
	case Backward:
		m.pendingBackward = false
	}
}
