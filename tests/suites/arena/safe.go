package arena

import (
	"errors"
	"slices"
)

// Safe is the cache made safe. What has changed:
//
//   - CacheFree does not free a block that other streams use, but holds it back until
//     the user says, by Release, that their work is over. The seed forgot the streams.
//   - EmptyCache is two steps: Releasable tells which pieces are free as a whole, and
//     Forget takes one out when the driver has it back. The seed forgot free blocks of
//     pieces that were not returned, and lost count of them.
//   - What makes no sense is an error, and changes nothing.
//   - Places of dead blocks are used again. The seed's arena grew for ever.
type Safe struct{ cache }

// NewSafe is an empty cache.
func NewSafe() *Safe { return &Safe{newCache()} }

// errNotOut is the answer to a call about a block that is not out.
var errNotOut = errors.New("the block is not out")

// Uses lists the streams that were recorded for a block.
func (s *Safe) Uses(i int) []use { return s.list[i].streamUses }

// CacheFree takes a block back. Held says that streams use it, and that the user has to
// call Release when the work that is in them now is over.
func (s *Safe) CacheFree(i int) (held bool, err error) {
	if !s.isOut(i) {
		return false, errNotOut
	}
	s.list[i].allocated = false
	s.allocated -= s.list[i].size
	if len(s.list[i].streamUses) > 0 {
		return true, nil
	}
	s.join(i)
	return false, nil
}

// Release frees a block that was held.
func (s *Safe) Release(i int) {
	s.list[i].streamUses = nil
	s.join(i)
}

// join merges a block with its free neighbours and makes it free.
func (s *Safe) join(i int) {
	for _, neighbour := range []int{s.list[i].prev, s.list[i].next} {
		if s.tryMerge(i, neighbour) {
			s.dead = append(s.dead, neighbour)
		}
	}
	s.put(i)
}

// RecordStreamOnBlock notes that a stream other than the block's own uses a block that
// is out.
func (s *Safe) RecordStreamOnBlock(i int, u use) error {
	if !s.isOut(i) {
		return errNotOut
	}
	if b := &s.list[i]; !slices.Contains(b.streamUses, u) {
		b.streamUses = append(b.streamUses, u)
	}
	return nil
}

// Releasable lists the blocks that are whole pieces and free, in order of the pools.
func (s *Safe) Releasable() []int {
	var whole []int
	for _, pool := range []freePool{s.large, s.small} {
		pool.blocks.Scan(func(k blockKey) bool {
			if b := &s.list[k.index]; b.prev == none && b.next == none {
				whole = append(whole, k.index)
			}
			return true
		})
	}
	return whole
}

// Forget takes out a block that Releasable told, the driver having it back.
func (s *Safe) Forget(i int) {
	s.take(i)
	s.reserved -= s.list[i].size
	s.list[i] = block{prev: none, next: none}
	s.dead = append(s.dead, i)
}
