package graphtree

import (
	"errors"
	"slices"

	"gaugeblock/spec"
)

// Restoring the pool. While graphs are launched the allocator is not called. If
// something is then to be recorded, or warmed up, below the node that ran last, the
// allocator's state must first become what is true on the device: this node has just
// run. So the pool is restored to the checkpoint that was made when the node was
// recorded (upstream: apply_checkpoint_execution_state_in_allocator). Then two things
// are corrected:
//
//   - what was live at the checkpoint and is live now is owned by its references: the
//     last one to be released frees the block, as if the run had allocated it;
//   - what was live at the checkpoint and is dead now is freed.

// applyCheckpoint restores the pool to what the present node has left.
func (m *Manager) applyCheckpoint() error {
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

// deadSince lists the memory of outputs that were live at the end of the recording and
// are dead now, by address. Aliases count once.
func (n *node) deadSince(path []*node) []spec.Ptr {
	var dead []spec.Ptr
	for _, at := range n.recording.after.changed(livenessOf(path)) {
		dead = append(dead, at.of(path).ptr())
	}
	slices.Sort(dead)
	return slices.Compact(dead)
}

// changeOwners makes the owners of blocks agree with a restore. There were owners
// before only if an earlier attempt to go on from here failed after the pool had been
// restored.
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
		s.deallocated = s.deallocated || !s.owned
	}
}
