package arena

import (
	"cmp"

	"github.com/tidwall/btree"

	"gaugeblock/spec"
)

// freePool has the free blocks of one kind of size, ordered so that the first one not
// below (stream, size) is the smallest that fits.
type freePool struct{ blocks *btree.BTreeG[blockKey] }

// blockKey is the order of blocks, and the index of the block.
type blockKey struct {
	stream spec.Stream
	size   uint64
	ptr    spec.Ptr
	index  int
}

func newFreePool() freePool {
	return freePool{btree.NewBTreeG(func(a, b blockKey) bool {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.size, b.size),
			cmp.Compare(a.ptr, b.ptr), cmp.Compare(a.index, b.index)) < 0
	})}
}

// findFreeBlock is the smallest block of the stream with at least this size.
func (p freePool) findFreeBlock(stream spec.Stream, size uint64) (index int, ok bool) {
	p.blocks.Ascend(blockKey{stream: stream, size: size}, func(k blockKey) bool {
		index, ok = k.index, k.stream == stream
		return false
	})
	return index, ok
}
