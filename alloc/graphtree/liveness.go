package graphtree

// Liveness. A graph writes to the same addresses at every launch: those that were
// free when it was recorded. It may be launched only where they are free again, so
// what was dead when it was recorded has to be dead now. What was live then may
// have died since; that wastes some memory and harms nobody.
//
// It is enough to look at what has changed between the end of the parent's
// recording and the beginning of this one. What was dead even before is dead
// whenever the parent has been launched, by the same rule applied to the parent.

// place names an output on a path: depth from the root, and which output.
type place struct{ depth, output int }

func (p place) of(path []*node) *watch { return path[p.depth].outputs[p.output] }

// liveness says of every output on a path whether somebody holds it.
type liveness [][]bool

func livenessOf(path []*node) liveness {
	now := make(liveness, len(path))
	for depth, n := range path {
		now[depth] = make([]bool, len(n.outputs))
		for i, w := range n.outputs {
			now[depth][i] = w.live()
		}
	}
	return now
}

// changed lists the outputs that differ, as far as both have them.
func (before liveness) changed(now liveness) []place {
	var changed []place
	for depth := range before {
		for i := range before[depth] {
			if before[depth][i] != now[depth][i] {
				changed = append(changed, place{depth, i})
			}
		}
	}
	return changed
}

// places lists the outputs that are live.
func (now liveness) places() []place {
	var live []place
	for depth := range now {
		for i := range now[depth] {
			if now[depth][i] {
				live = append(live, place{depth, i})
			}
		}
	}
	return live
}

// allDead reports whether nobody holds any of the outputs.
func allDead(path []*node, places []place) bool {
	for _, p := range places {
		if p.of(path).live() {
			return false
		}
	}
	return true
}

// find finds the first output on a path that the memory is. Its address alone would
// not do: an output of an earlier generation may have lain there, which is still
// held and is somebody else's memory by now.
func find(path []*node, s *storage) (place, bool) {
	for depth, n := range path {
		for i, w := range n.outputs {
			if w.live() && w.storage == s {
				return place{depth, i}, true
			}
		}
	}
	return place{}, false
}
