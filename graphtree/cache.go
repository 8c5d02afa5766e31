package graphtree

// The cache. An output is the same memory at every launch. So the tensor can be the
// same too, and usually is: making one costs more than the rest of a launch on the
// host. The node then has a reference of its own. That reference does not count
// (weakRef.cached); otherwise the output would never be dead.
//
// It follows that a program that keeps an output of an earlier launch keeps that of
// this launch alive: they are the same.
//
// The caches on the path are emptied before the pool is restored: from then on the
// program's references own the memory, and the cache must not.

// fillCache makes the cached outputs, if they are not there.
func (n *node) fillCache() {
	r := n.recording
	if r.cached {
		return
	}
	r.cached = true
	for i := range r.outputInfos {
		if info := &r.outputInfos[i]; info.unaliasedInAllPaths {
			info.cache = &storage{manager: n.outputs[i].storage.manager, memory: info.memory, refs: 1}
			n.outputs[i] = &weakRef{storage: info.cache, cached: true}
		}
	}
}

// emptyCache drops the cached outputs.
func (n *node) emptyCache() {
	r := n.recording
	if r == nil || !r.cached {
		return
	}
	r.cached = false
	for i := range r.outputInfos {
		if cache := r.outputInfos[i].cache; cache != nil {
			r.outputInfos[i].cache = nil
			cache.refs-- // it owns no block that could be freed
			if w := n.outputs[i]; w.storage == cache {
				w.cached = false
			}
		}
	}
}
