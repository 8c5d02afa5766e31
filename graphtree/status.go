package graphtree

import "slices"

// State is what the last call became.
type State int

const (
	// Idle: there is no path. Outputs of earlier calls do not matter.
	Idle State = iota
	// WarmUp: the function ran without being recorded.
	WarmUp
	// Recording: it was recorded.
	Recording
	// Execution: a recording was launched again.
	Execution
)

// String is upstream's name (ExecutionState).
func (s State) String() string {
	return [...]string{"NONE", "WARMUP", "RECORDING", "EXECUTION"}[s]
}

// Status is the state of a manager, with its counters.
type Status struct {
	State State
	// Path has the ids of the nodes from the root to that of the last call. Recordings
	// count from 0 up, warm-ups from -1 down.
	Path        []int
	Fails       int   // calls for which no recorded child fitted
	Checkpoints int   // how often the pool was restored
	Outside     int   // calls that ran without a graph, over the re-record limit
	Roots       []int // how many recordings each root function has, sorted
}

// Status returns the state of the manager.
func (m *Manager) Status() Status {
	s := Status{State: m.state, Fails: m.fails, Checkpoints: m.checkpoints, Outside: m.outside}
	for _, n := range m.current.path() {
		s.Path = append(s.Path, n.id)
	}
	for _, nodes := range m.roots {
		s.Roots = append(s.Roots, len(nodes))
	}
	slices.Sort(s.Roots)
	return s
}

// Holds reports whether the tree still protects the tensor's memory: no later launch or
// recording will write to it before it is released or a new generation begins.
func (m *Manager) Holds(t *Tensor) bool {
	if m.current == nil || t.released {
		return false
	}
	return slices.ContainsFunc(m.current.live(), func(w *weakRef) bool { return w.storage == t.storage })
}
