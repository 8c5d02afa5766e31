package graphtree

// The re-record limit. A function whose inputs have other addresses at every call would
// be recorded every time, and every recording stays. Where it was recorded more often
// than the limit, it runs without a graph, outside of the pool. Recordings for other
// reasons (an output is live that was dead before) do not count: their number is bounded
// combinations.

// callSite is a function at a node of the tree.
type callSite struct {
	at       *node // nil at the roots
	function *Function
}

// overLimit reports whether the function is not to be recorded here any more.
func (m *Manager) overLimit(f *Function) bool {
	return m.limit > 0 && m.moved[callSite{m.current, f}] > m.limit
}

// runOutside runs a function without a graph, on the program's stream and in the
// default pool.
func (m *Manager) runOutside(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	m.outside++
	return m.runBody(f, m.program, inputs)
}
