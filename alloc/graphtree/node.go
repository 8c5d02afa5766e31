package graphtree

import "gaugeblock/spec"

// node is a call, in its place below the calls before it. A warm-up has no
// recording, and is forgotten with its path. A recorded node stays in the tree and
// is launched again whenever the program comes by with everything as it was.
type node struct {
	id       int // recordings count from 0 up, warm-ups from -1 down
	function *Function
	parent   *node // nil at a root

	// What became of each output in the node's latest run; nil where the tree
	// need not care: the output is the program's own memory.
	outputs []*watch

	recording *recording
}

// recording is what is known of a graph beside what it does.
type recording struct {
	exec     spec.GraphExec
	state    spec.PoolState // of the pool when the recording ended
	children map[*Function][]*node

	inputs []recordedInput
	// What was live when the recording began and when it ended, by depth and
	// output. See liveness.go for what follows from them.
	before, after liveness
	deadBefore    []place // had to die between the parent's end and this beginning
	deadAfter     []place // died while the function ran
	liveAfter     []place // was live at the end

	results []result
	cached  bool // the outputs that can be are in the cache
}

// recordedInput is an input as it was at the recording.
type recordedInput struct {
	memory    spec.Range // where the graph reads it
	managed   bool       // an output of a node on the path
	static    bool       // the function says that it does not move
	preserved bool       // managed, and also returned: it must not be let go first
	at        place      // which
}

// copied reports whether the input is copied into the pool.
func (in *recordedInput) copied() bool { return !in.managed && !in.static }

// path is the nodes from the root to this one.
func (n *node) path() []*node {
	if n == nil {
		return nil
	}
	depth := 0
	for at := n; at != nil; at = at.parent {
		depth++
	}
	path := make([]*node, depth)
	for at := n; at != nil; at = at.parent {
		depth--
		path[depth] = at
	}
	return path
}

// live lists the outputs on the path that somebody holds. Below a recorded node
// only those count that were live at the end of its recording; nothing else can
// be.
func (n *node) live() []*watch {
	path := n.path()
	var live []*watch
	if n.recording == nil {
		for _, at := range path {
			for _, w := range at.outputs {
				if w.live() {
					live = append(live, w)
				}
			}
		}
		return live
	}
	for _, at := range n.recording.liveAfter {
		if w := at.of(path); w.live() {
			live = append(live, w)
		}
	}
	return live
}
