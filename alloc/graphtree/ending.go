package graphtree

import "errors"

// The end of a path. A path goes on as long as something on it may still be
// needed. It ends when a new generation begins, or when nobody holds any of its
// outputs; the next call then starts at a root.
//
// When a path of recordings or warm-ups ends for a new generation, the allocator
// still has its outputs as allocated. They are taken from whoever holds them, who
// will hear of it at the next use. After launches there is nothing to take, for the
// allocator does not know of them, unless the pool was set back for a call that then
// failed.

// endPath ends the present path if it may end.
func (m *Manager) endPath() (err error) {
	switch {
	case m.current == nil:
		return nil
	case m.newGeneration():
		err = m.takeOutputs()
	case len(m.current.live()) > 0:
		return nil
	}
	m.current, m.state = nil, Idle
	return err
}

// takeOutputs takes the memory that the allocator has as allocated for the path's
// outputs.
func (m *Manager) takeOutputs() (err error) {
	for _, w := range m.current.live() {
		if w.storage.owned { // and not an alias of one that was taken
			err = errors.Join(err, w.storage.take())
		}
	}
	return err
}
