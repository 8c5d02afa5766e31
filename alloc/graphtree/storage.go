package graphtree

import "gaugeblock/spec"

// storage is some memory and how many hold it. Whether anybody does is all that
// the tree knows of a program: it is what liveness means.
//
//	owned    a block of the allocator goes back when the last holder lets go
//	else     somebody else's memory, or the output of a launched graph, which
//	         the allocator knows nothing of
//	taken    the memory was given to a later run under the holders' feet
type storage struct {
	manager *Manager
	memory  spec.Range
	holders int
	owned   bool
	taken   bool
}

func (s *storage) hold() *storage {
	s.holders++
	return s
}

// drop is the end of one holder's hold.
func (s *storage) drop() error {
	s.holders--
	if s.holders > 0 || !s.owned {
		return nil
	}
	return s.giveBack()
}

// giveBack frees the block.
func (s *storage) giveBack() error {
	s.owned = false
	delete(s.manager.owners, s.memory.Ptr)
	return s.manager.allocator.Free(s.memory.Ptr)
}

// own makes the storage the one that frees the block at its address.
func (s *storage) own() {
	s.owned = true
	s.manager.owners[s.memory.Ptr] = s
}

// take gives the block to whoever comes next, whoever holds it.
func (s *storage) take() error {
	s.taken = true
	return s.giveBack()
}

// A watch is what a node keeps of one of its outputs: it sees whether somebody
// holds it without holding it itself. Where the node's cache holds the output that
// hold does not count.
type watch struct {
	storage *storage
	cached  bool
}

func (w *watch) ptr() spec.Ptr { return w.storage.memory.Ptr }

// live reports whether a program holds the output. An output that needs no watch
// is never live.
func (w *watch) live() bool {
	if w == nil || w.storage.taken {
		return false
	}
	if w.cached {
		return w.storage.holders > 1
	}
	return w.storage.holders > 0
}
