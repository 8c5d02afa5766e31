package graphtree

import "gaugeblock/spec"

// Aliases. Two outputs can be the same memory; a reference to one keeps both alive.
// What an output is can be seen only at the recording, when every output is allocated
// at its true address (upstream: OutputAliasInfo):
//
//	staticInput          a static input, which the tree does not manage
//	aliasesPriorOutput   a live output of an earlier node on the path
//	aliasesNewOutput     an earlier output of the same node
//	unaliasedStorage     none of these: the node's own memory
//
// An output of which no other output, in any path, is an alias can be cached; see
// cache.go.

type aliasKind int

const (
	unaliasedStorage aliasKind = iota
	staticInput
	aliasesPriorOutput
	aliasesNewOutput
)

// outputInfo says how to reconstruct an output when the graph is launched.
type outputInfo struct {
	kind                aliasKind
	memory              spec.Range
	input               *storage // with a reference of its own
	prior               pathOutputIndex
	newOutput           int  // index of the output
	unaliasedInAllPaths bool // no output is known to be an alias of it
	cache               *storage
}

// addOutputs records what the outputs of a recording are, and makes weak references to
// them.
func (n *node) addOutputs(r *recording, path []*node, outputs []*Tensor) {
	first := map[*storage]int{} // index of each unaliased one
	for i, t := range outputs {
		info := outputInfo{memory: t.storage.memory}
		p := t.ptr()
		prior, isPrior := find(path, t.storage)
		newOutput, isAlias := first[t.storage]
		switch {
		case p == 0 || r.isStaticInput(p):
			info.kind, info.input = staticInput, t.storage.addRef()
		case isPrior:
			info.kind, info.prior = aliasesPriorOutput, prior
			r.preserve(prior)
			path[prior.depth].removePathAlias(prior.output)
		case isAlias:
			info.kind, info.newOutput = aliasesNewOutput, newOutput
			r.outputInfos[newOutput].unaliasedInAllPaths = false
		default:
			info.unaliasedInAllPaths = true
			first[t.storage] = i
		}
		r.outputInfos = append(r.outputInfos, info)
	}
	for i, t := range outputs {
		var w *weakRef
		if r.outputInfos[i].kind != staticInput {
			w = &weakRef{storage: t.storage}
		}
		n.outputs = append(n.outputs, w)
	}
}

// isStaticInput reports whether the address is that of a static input that is not an
// output on the path.
func (r *recording) isStaticInput(p spec.Ptr) bool {
	for i := range r.inputs {
		in := &r.inputs[i]
		if in.static && !in.managed && in.memory.Ptr == p {
			return true
		}
	}
	return false
}

// preserve marks the inputs that are the given output: they must not be released before
// the graph has been launched, since the returned output is made from them.
func (r *recording) preserve(at pathOutputIndex) {
	for i := range r.inputs {
		if r.inputs[i].managed && r.inputs[i].at == at {
			r.inputs[i].preserved = true
		}
	}
}

// removePathAlias records that a later node returns an output of this one: it is not
// cached any more. Its cache is empty, as that of every node above a recording.
func (n *node) removePathAlias(output int) {
	n.recording.outputInfos[output].unaliasedInAllPaths = false
	n.outputs[output].cached = false
}
