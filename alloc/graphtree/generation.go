package graphtree

// Generations. A program runs the same functions over and over: steps of a
// training loop, requests that are served. What one round leaves is, as a rule, of
// no use to the next, and the memory that it lies in is where the next round's
// graphs write. So outputs that are still held are no obstacle once a new
// generation has begun.
//
// Who says that one has begun? The program, with MarkStep. As long as it never
// does, the compiler's guess counts: every invocation of a compiled model begins
// one. That guess is wrong between a forward pass and its backward pass, which
// needs what the forward pass left. Therefore a guessed generation does not count
// while a forward function has run and no backward function since. One backward
// function is enough: not every forward pass is followed by its own.

// Generations says which generation it is. One is shared by the managers of all
// devices. The zero value is ready; it is not for use by several goroutines at once.
type Generations struct{ steps, invocations uint64 }

// MarkStep says that a new step begins. From the first time on only steps count.
func (g *Generations) MarkStep() { g.steps++ }

// NewInvocation says that a compiled model is invoked from outside.
func (g *Generations) NewInvocation() { g.invocations++ }

// generation names one.
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

// newGeneration reports whether a generation has begun since the last call that
// may take the memory of the present path.
func (m *Manager) newGeneration() bool {
	now := m.generations.now()
	if now == m.generation {
		return false
	}
	return now.marked || !m.pendingBackward
}

// BeginBackward says that a backward pass has begun in which no Backward function
// takes part.
func (m *Manager) BeginBackward() { m.pendingBackward = false }

// ran notes that a function has run.
func (m *Manager) ran(f *Function) {
	switch f.Mode {
	case Forward:
		m.pendingBackward = true
	case Backward:
		m.pendingBackward = false
	}
}
