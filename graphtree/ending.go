package graphtree

import "errors"

// The end of a path. A path ends when a new generation begins, or when all of its
// outputs are dead. The next call then starts at a root.
//
// When a path of recordings or warm-ups ends for a new generation, its live outputs are
// still allocated. They are deallocated although there are references to them; their
// next use is an error (upstream: dealloc_current_path_weakrefs). After launches there
// is nothing to deallocate, since the allocator was not called, unless the pool was
// restored for a call that then failed.

// tryEndPath ends the present path if it can end.
func (m *Manager) tryEndPath() (err error) {
	switch {
	case m.current == nil:
		return nil
	case m.newGeneration():
		err = m.deallocatePath()
	case len(m.current.live()) > 0:
		return nil
	}
	m.current, m.state = nil, Idle
	return err
}

// deallocatePath deallocates the path's live outputs.
func (m *Manager) deallocatePath() (err error) {
	for _, w := range m.current.live() {
		if w.storage.owned { // and is not an alias of one that was deallocated
			err = errors.Join(err, w.storage.deallocate())
		}
	}
	return err
}
