package graphtree

// Liveness. A graph writes to the same addresses at every launch: those that were free
// when it was recorded. It can be launched only where they are free again, so what was
// dead when it was recorded has to be dead now. What was live then may be dead now;
// some memory is then unused.
//
// It is enough to compare the end of the parent's recording with the beginning of this
// one. What was dead before is dead whenever the parent was launched, by the same rule
// for the parent.

// pathOutputIndex is an output on a path: the depth of the node from the root, and the
// index of the output (upstream: PathOutputIndex).
type pathOutputIndex struct{ depth, output int }

func (p pathOutputIndex) of(path []*node) *weakRef { return path[p.depth].outputs[p.output] }

// pathLiveness says of every output on a path whether it is live.
type pathLiveness [][]bool

func livenessOf(path []*node) pathLiveness {
	now := make(pathLiveness, len(path))
	for depth, n := range path {
		now[depth] = make([]bool, len(n.outputs))
		for i, w := range n.outputs {
			now[depth][i] = w.live()
		}
	}
	return now
}

// changed lists the outputs that differ, as far as both have them.
func (before pathLiveness) changed(now pathLiveness) []pathOutputIndex {
	var changed []pathOutputIndex
	for depth := range before {
		for i := range before[depth] {
			if before[depth][i] != now[depth][i] {
				changed = append(changed, pathOutputIndex{depth, i})
			}
		}
	}
	return changed
}

// places lists the outputs that are live.
func (now pathLiveness) places() []pathOutputIndex {
	var live []pathOutputIndex
	for depth := range now {
		for i := range now[depth] {
			if now[depth][i] {
				live = append(live, pathOutputIndex{depth, i})
			}
		}
	}
	return live
}

// allDead reports whether none of the outputs is live.
func allDead(path []*node, places []pathOutputIndex) bool {
	for _, p := range places {
		if p.of(path).live() {
			return false
		}
	}
	return true
}

// find finds the first output on a path that is this storage. The address alone would
// not do: an output of an earlier generation, which is still referenced, may have had
// it.
func find(path []*node, s *storage) (pathOutputIndex, bool) {
	for depth, n := range path {
		for i, w := range n.outputs {
			if w.live() && w.storage == s {
				return pathOutputIndex{depth, i}, true
			}
		}
	}
	return pathOutputIndex{}, false
}
