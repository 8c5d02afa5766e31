package graphtree

import "gaugeblock/spec"

// storage is some memory and the number of references to it.
//
//	owned        the last reference to be released frees the block
//	not owned    other memory, or an output of a launched graph, of which the
//	             allocator does not know
//	deallocated  the block was freed although there were references
type storage struct {
	manager     *Manager
	memory      spec.Range
	refs        int
	owned       bool
	deallocated bool
}

func (s *storage) addRef() *storage {
	s.refs++
	return s
}

// dropRef drops a reference.
func (s *storage) dropRef() error {
	s.refs--
	if s.refs > 0 || !s.owned {
		return nil
	}
	return s.freeBlock()
}

// freeBlock frees the block.
func (s *storage) freeBlock() error {
	s.owned = false
	delete(s.manager.owners, s.memory.Ptr)
	return s.manager.allocator.Free(s.memory.Ptr)
}

// own makes the storage the owner of the block at its address.
func (s *storage) own() {
	s.owned = true
	s.manager.owners[s.memory.Ptr] = s
}

// deallocate frees the block although there are references.
func (s *storage) deallocate() error {
	s.deallocated = true
	return s.freeBlock()
}

// A weakRef is a node's reference to one of its outputs, which does not keep it alive
// (upstream: StorageWeakRefWrapper). The reference of the node's cache does not either.
type weakRef struct {
	storage *storage
	cached  bool
}

func (w *weakRef) ptr() spec.Ptr { return w.storage.memory.Ptr }

// live reports whether the program has a reference to the output. Without a weak
// reference (nil) the output is never live.
func (w *weakRef) live() bool {
	if w == nil || w.storage.deallocated {
		return false
	}
	if w.cached {
		return w.storage.refs > 1
	}
	return w.storage.refs > 0
}
