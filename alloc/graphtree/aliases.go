package graphtree

import "gaugeblock/spec"

// Aliases. Two outputs may be the same memory, and then one holder keeps both
// alive. What an output is can be seen once, at the recording, when everything is
// out at its true address:
//
//	fixed       a static input, which the tree does not manage: the program's own
//	ofEarlier   a live output of a node before this one on the path
//	ofSibling   an output of this node that came before it
//	fresh       none of these: its memory is the node's own
//
// Outputs that nobody else is an alias of, in any path, can be cached; cache.go.

type resultKind int

const (
	fresh resultKind = iota
	fixed
	ofEarlier
	ofSibling
)

// result says how an output is to be made again when the graph is launched.
type result struct {
	kind      resultKind
	memory    spec.Range
	fixed     *storage // held
	earlier   place
	sibling   int  // index of the output that it is
	unaliased bool // nobody is known to be an alias of it
	cache     *storage
}

// addOutputs notes the outputs of a recording and begins to watch them.
func (n *node) addOutputs(r *recording, path []*node, outputs []*Tensor) {
	first := map[*storage]int{} // of the fresh ones
	for i, t := range outputs {
		result := result{memory: t.storage.memory}
		p := t.ptr()
		earlier, isEarlier := find(path, t.storage)
		sibling, isSibling := first[t.storage]
		switch {
		case p == 0 || r.isFixed(p):
			result.kind, result.fixed = fixed, t.storage.hold()
		case isEarlier:
			result.kind, result.earlier = ofEarlier, earlier
			r.preserve(earlier)
			path[earlier.depth].hasAlias(earlier.output)
		case isSibling:
			result.kind, result.sibling = ofSibling, sibling
			r.results[sibling].unaliased = false
		default:
			result.unaliased = true
			first[t.storage] = i
		}
		r.results = append(r.results, result)
	}
	for i, t := range outputs {
		var w *watch
		if r.results[i].kind != fixed {
			w = &watch{storage: t.storage}
		}
		n.outputs = append(n.outputs, w)
	}
}

// isFixed reports whether the address is that of a static input that no node on
// the path has made.
func (r *recording) isFixed(p spec.Ptr) bool {
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.static && !in.managed && in.memory.Ptr == p {
			return true
		}
	}
	return false
}

// preserve keeps the inputs that are the given output from being let go before
// the graph has been launched: the output that is returned is made from them.
func (r *recording) preserve(at place) {
	for i := range r.inputs {
		if r.inputs[i].managed && r.inputs[i].at == at {
			r.inputs[i].preserved = true
		}
	}
}

// hasAlias notes that a later node returns an output of this one: it is not cached
// any more. Its cache is empty, as that of every node above a recording.
func (n *node) hasAlias(output int) {
	n.recording.results[output].unaliased = false
	n.outputs[output].cached = false
}
