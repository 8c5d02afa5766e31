package graphtree

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// Setting the pool back. While graphs are launched the allocator hears nothing. If
// something is then to be recorded, or warmed up, below the node that ran last,
// the allocator must first believe what is true on the device: that this node has
// just run. So the pool is set back to the state that was noted when it was
// recorded, and then two things are put right:
//
//   - what was live then and is held now belongs to its holders: the last one to
//     let go frees the block, as if the run had allocated it;
//   - what was live then and has died since is freed.

// setBack makes the allocator see the pool as the present node has left it.
func (m *Manager) setBack() error {
	n := m.current
	path := n.path()
	for _, at := range path {
		at.emptyCache()
	}
	dead := n.deadSince(path)
	delta, err := m.allocator.Restore(m.device, n.recording.state)
	if err != nil {
		return err
	}
	m.checkpoints++
	m.changeOwners(delta)
	for _, p := range dead {
		err = errors.Join(err, m.allocator.Free(p))
	}
	return err
}

// deadSince lists the memory of outputs that were live at the end of the
// recording and are not now, by address. Aliases are one.
func (n *node) deadSince(path []*node) []spec.Ptr {
	var dead []spec.Ptr
	for _, at := range n.recording.after.changed(livenessOf(path)) {
		dead = append(dead, at.of(path).ptr())
	}
	slices.Sort(dead)
	return slices.Compact(dead)
}

// changeOwners does for the holders what a restore did for the allocator. Somebody
// owns memory of the pool before it only if an earlier attempt to go on from here
// failed after the pool had been set back.
func (m *Manager) changeOwners(delta spec.RestoreDelta) {
	var before []*storage
	for _, p := range delta.Freed {
		if s := m.owners[p]; s != nil {
			s.owned = false
			delete(m.owners, p)
			before = append(before, s)
		}
	}
	live := map[spec.Ptr]*storage{}
	for _, w := range m.current.live() {
		live[w.ptr()] = w.storage
	}
	for _, p := range delta.Created {
		if s := live[p]; s != nil {
			s.own()
		}
	}
	for _, s := range before {
		s.taken = s.taken || !s.owned
	}
}
