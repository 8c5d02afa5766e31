package graphtree

import "gaugeblock/spec"

// node is a call, below the calls before it. A warm-up has no recording, and is dropped
// with its path. A recorded node stays in the tree and is launched whenever its
// invariants hold (checkInvariants).
type node struct {
	id       int // recordings count from 0 up, warm-ups from -1 down
	function *Function
	parent   *node // nil at a root

	// The outputs of the node's latest run; nil for memory that the tree does not
	// manage.
	outputs []*weakRef

	recording *recording
}

// recording is a graph and the conditions for launching it.
type recording struct {
	exec     spec.GraphExec
	state    spec.PoolState // of the pool at the end of the recording
	children map[*Function][]*node

	inputs []recordedInput
	// What was live at the beginning and at the end of the recording, by depth and
	// output; see liveness.go.
	before, after pathLiveness
	deadBefore    []pathOutputIndex // died between the parent's end and this beginning
	deadAfter     []pathOutputIndex // died while the function ran
	liveAfter     []pathOutputIndex // were live at the end

	outputInfos []outputInfo
	cached      bool // the cached outputs are there
}

// recordedInput is an input at the recording.
type recordedInput struct {
	memory  spec.Range // where the graph reads it
	managed bool       // an output of a node on the path
	static  bool       // the function says that its address does not change
	// managed, and also returned: it must not be released before the launch
	preserved bool
	at        pathOutputIndex // which output, if managed
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

// live lists the live outputs on the path. Of a recorded node those are among the ones
// that were live at the end of its recording.
func (n *node) live() []*weakRef {
	path := n.path()
	var live []*weakRef
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
