package graphtree

// The cache. An output is the same memory at every launch, so the tensor can be
// the same too, and most are: making one costs more than everything else that a
// launch needs of the host. The node then holds it itself. That hold does not
// count (watch.cached), or the output would never die.
//
// It follows that somebody who has kept an output of an earlier launch keeps the
// one of this launch alive: the two are one.
//
// Before the pool is set back the caches on the path are emptied: what the program
// holds is to own its memory from then on, and the cache owns none.

// fillCache makes the cached outputs, unless they are there.
func (n *node) fillCache() {
	r := n.recording
	if r.cached {
		return
	}
	r.cached = true
	for i := range r.results {
		if result := &r.results[i]; result.unaliased {
			result.cache = &storage{manager: n.outputs[i].storage.manager, memory: result.memory, holders: 1}
			n.outputs[i] = &watch{storage: result.cache, cached: true}
		}
	}
}

// emptyCache lets the cached outputs go.
func (n *node) emptyCache() {
	r := n.recording
	if r == nil || !r.cached {
		return
	}
	r.cached = false
	for i := range r.results {
		if cache := r.results[i].cache; cache != nil {
			r.results[i].cache = nil
			cache.holders-- // it owns nothing that could go back
			if w := n.outputs[i]; w.storage == cache {
				w.cached = false
			}
		}
	}
}
