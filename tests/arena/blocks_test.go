package arena

import "gaugeblock/spec"

// none is the index of no block.
const none = -1

// block is a part of a segment.
type block struct {
	size       uint64
	ptr        spec.Ptr
	stream     spec.Stream
	streamUses []streamUse // in the order in which they were recorded
	allocated  bool
	prev, next int // neighbours in the segment, none at its ends
	small      bool
}

func (b *block) kind() spec.PoolKind {
	if b.small {
		return spec.SmallPool
	}
	return spec.LargePool
}

func (b *block) key(index int) blockKey { return blockKey{b.stream, b.size, b.ptr, index} }

// streamUse is a stream that uses a block.
type streamUse struct {
	device spec.Device
	stream spec.Stream
}

// blocks is the index arena: blocks refer to each other by their index in a list. A block
// of size 0 is unused: it was merged into a neighbour.
type blocks struct {
	list         []block
	unused       []int // indexes that can be reused; the seed has none
	small, large freePool
}

func newBlocks() blocks { return blocks{small: newFreePool(), large: newFreePool()} }

// add adds a block and returns its index.
func (a *blocks) add(b block) int {
	if n := len(a.unused); n > 0 {
		i := a.unused[n-1]
		a.unused = a.unused[:n-1]
		a.list[i] = b
		return i
	}
	a.list = append(a.list, b)
	return len(a.list) - 1
}

func (a *blocks) pool(small bool) freePool {
	if small {
		return a.small
	}
	return a.large
}

// insertFree adds a block to its free pool, removeFree removes it.
func (a *blocks) insertFree(i int) { a.pool(a.list[i].small).blocks.Set(a.list[i].key(i)) }
func (a *blocks) removeFree(i int) { a.pool(a.list[i].small).blocks.Delete(a.list[i].key(i)) }

func (a *blocks) shouldSplit(i int, size uint64) bool {
	remaining := a.list[i].size - size
	if a.list[i].small {
		return remaining >= minBlockSize
	}
	return remaining > smallSize
}

// split splits a block; the remaining part goes to the free pool.
func (a *blocks) split(i int, size uint64) {
	b := a.list[i]
	remaining := a.add(block{
		size: b.size - size, ptr: b.ptr + spec.Ptr(size), stream: b.stream,
		prev: i, next: b.next, small: b.small,
	})
	a.list[i].size, a.list[i].next = size, remaining
	if b.next != none {
		a.list[b.next].prev = remaining
	}
	a.insertFree(remaining)
}

// tryMerge merges a neighbour into a block, if it is free and has no stream uses. It
// reports whether it did.
func (a *blocks) tryMerge(i, neighbour int) bool {
	if neighbour == none || a.list[neighbour].allocated || len(a.list[neighbour].streamUses) > 0 {
		return false
	}
	a.removeFree(neighbour)
	b, n := &a.list[i], a.list[neighbour]
	b.size += n.size
	if b.prev == neighbour {
		b.ptr, b.prev = n.ptr, n.prev
		if n.prev != none {
			a.list[n.prev].next = i
		}
	} else {
		b.next = n.next
		if n.next != none {
			a.list[n.next].prev = i
		}
	}
	a.list[neighbour] = block{prev: none, next: none}
	return true
}
