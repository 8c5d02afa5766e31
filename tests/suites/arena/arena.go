package arena

import "gaugeblock/spec"

// none is the index of no block.
const none = -1

// block is a part of a piece that the user got from the driver.
type block struct {
	size       uint64
	ptr        spec.Ptr
	stream     spec.Stream
	streamUses []use // other streams that use it, in the order in which they were recorded
	allocated  bool
	prev, next int // neighbours in the piece, none at its ends
	small      bool
}

func (b *block) kind() spec.PoolKind {
	if b.small {
		return spec.SmallPool
	}
	return spec.LargePool
}

func (b *block) key(index int) blockKey { return blockKey{b.stream, b.size, b.ptr, index} }

// use is a stream that uses a block.
type use struct {
	device spec.Device
	stream spec.Stream
}

// blocks is the index arena: blocks name each other by their place in a list. A block
// of size 0 is dead: a neighbour has absorbed it.
type blocks struct {
	list         []block
	dead         []int // places that can be used again; the seed has none
	small, large freePool
}

func newBlocks() blocks { return blocks{small: newFreePool(), large: newFreePool()} }

// add gives a block a place.
func (a *blocks) add(b block) int {
	if n := len(a.dead); n > 0 {
		i := a.dead[n-1]
		a.dead = a.dead[:n-1]
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

// put adds a block to its free pool, take removes it.
func (a *blocks) put(i int)  { a.pool(a.list[i].small).blocks.Set(a.list[i].key(i)) }
func (a *blocks) take(i int) { a.pool(a.list[i].small).blocks.Delete(a.list[i].key(i)) }

func (a *blocks) shouldSplit(i int, size uint64) bool {
	rest := a.list[i].size - size
	if a.list[i].small {
		return rest >= minBlockSize
	}
	return rest > smallSize
}

// split cuts a block; the rest goes to the free pool.
func (a *blocks) split(i int, size uint64) {
	b := a.list[i]
	rest := a.add(block{
		size: b.size - size, ptr: b.ptr + spec.Ptr(size), stream: b.stream,
		prev: i, next: b.next, small: b.small,
	})
	a.list[i].size, a.list[i].next = size, rest
	if b.next != none {
		a.list[b.next].prev = rest
	}
	a.put(rest)
}

// tryMerge lets a block absorb a neighbour, if it is free and no stream uses it. It
// reports whether it did.
func (a *blocks) tryMerge(i, neighbour int) bool {
	if neighbour == none || a.list[neighbour].allocated || len(a.list[neighbour].streamUses) > 0 {
		return false
	}
	a.take(neighbour)
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
