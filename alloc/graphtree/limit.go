package graphtree

// The re-record limit. A function whose inputs lie elsewhere at every call would
// be recorded every time, and each recording stays. Beyond the limit it runs
// without a graph, outside of the pool, wherever it was recorded too often. Recordings
// for other reasons (something lives on that did not before) do not count: there
// are only so many ways in which a program can go.

// occasion is a function at a place in the tree.
type occasion struct {
	at       *node // nil at the roots
	function *Function
}

// overLimit reports whether the function is not to be recorded here any more.
func (m *Manager) overLimit(f *Function) bool {
	return m.limit > 0 && m.moved[occasion{m.current, f}] > m.limit
}

// runOutside runs a function without a graph, on the program's stream and in the
// default pool.
func (m *Manager) runOutside(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	m.outside++
	return m.do(f, m.program, inputs)
}
