package arena

import (
	"errors"
	"slices"
)

// Safe is the cache made safe. What has changed:
//
//   - CacheFree does not free a block with stream uses. It is pending until the user calls
//     Release, when the work of the streams has completed. The seed forgot the streams.
//   - EmptyCache is two steps: Releasable lists the segments without allocated blocks, and
//     Forget removes one that was freed. The seed forgot free blocks of segments that were
//     not freed, and no longer counted them.
//   - Misuse is an error, and changes nothing.
//   - Indexes of unused blocks are reused. The arena of the seed grew for ever.
type Safe struct{ cache }

// NewSafe is an empty cache.
func NewSafe() *Safe { return &Safe{newCache()} }

// errNotAllocated is the error of calls for blocks that are not allocated.
var errNotAllocated = errors.New("the block is not allocated")

// StreamUses lists the stream uses of a block.
func (s *Safe) StreamUses(i int) []streamUse { return s.list[i].streamUses }

// CacheFree frees a block. If it is pending, it has stream uses, and the user has to call
// Release when the present work of the streams has completed.
func (s *Safe) CacheFree(i int) (pending bool, err error) {
	if !s.isAllocated(i) {
		return false, errNotAllocated
	}
	s.list[i].allocated = false
	s.allocated -= s.list[i].size
	if len(s.list[i].streamUses) > 0 {
		return true, nil
	}
	s.merge(i)
	return false, nil
}

// Release frees a pending block.
func (s *Safe) Release(i int) {
	s.list[i].streamUses = nil
	s.merge(i)
}

// merge merges a block with its free neighbours and adds it to the free pool.
func (s *Safe) merge(i int) {
	for _, neighbour := range []int{s.list[i].prev, s.list[i].next} {
		if s.tryMerge(i, neighbour) {
			s.unused = append(s.unused, neighbour)
		}
	}
	s.insertFree(i)
}

// RecordStreamOnBlock records a use of an allocated block by a stream other than its own.
func (s *Safe) RecordStreamOnBlock(i int, u streamUse) error {
	if !s.isAllocated(i) {
		return errNotAllocated
	}
	if b := &s.list[i]; !slices.Contains(b.streamUses, u) {
		b.streamUses = append(b.streamUses, u)
	}
	return nil
}

// Releasable lists the free blocks that are whole segments, in order of the pools.
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

// Forget removes a block of Releasable, whose segment was freed.
func (s *Safe) Forget(i int) {
	s.removeFree(i)
	s.reserved -= s.list[i].size
	s.list[i] = block{prev: none, next: none}
	s.unused = append(s.unused, i)
}
