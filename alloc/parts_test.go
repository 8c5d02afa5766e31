package alloc

import (
	"math/bits"
	"sync/atomic"
	"testing"

	"gaugeblock/spec"
)

// BenchmarkParts times the parts of a pair, malloc and free of 512 B, each alone: as it is, and
// the best that was found for what the part must do at least. docs/benchmarks.md has
// results. An operation is what a pair does.
//
//	go test ./alloc -run xxx -bench Parts -count 10
func BenchmarkParts(b *testing.B) {
	b.Run("mutex/ours", benchmarkMutex)
	b.Run("mutex/best", benchmarkTwoAtomics)
	b.Run("table/ours", benchmarkTable)
	b.Run("table/best", benchmarkOneSlot)
	b.Run("lists/ours", benchmarkLists)
	b.Run("lists/best", benchmarkBits)
	b.Run("statistics/ours", benchmarkTallies)
	b.Run("statistics/best", benchmarkSums)
	b.Run("blocks/ours", benchmarkBlocks)
	b.Run("blocks/best", benchmarkLinks)
}

// benchmarkMutex takes the device's mutex twice.
func benchmarkMutex(b *testing.B) {
	d := new(device)
	for b.Loop() {
		d.lock()
		d.mu.Unlock()
		d.lock()
		d.mu.Unlock()
	}
}

// benchmarkTwoAtomics is the least of a mutex on which somebody may sleep: one atomic to take
// it, and one to release it and learn of the sleeper.
func benchmarkTwoAtomics(b *testing.B) {
	var state atomic.Int32
	for b.Loop() {
		for range 2 {
			if state.CompareAndSwap(0, 1) && state.Add(-1) != 0 {
				b.Fatal("somebody sleeps")
			}
		}
	}
}

// benchmarkTable puts a pointer in, and finds and erases it, beside a thousand others.
func benchmarkTable(b *testing.B) {
	var table pointerTable
	for i := range 1000 {
		table.insertLocked(spec.Ptr(i+1)*4096, new(block))
	}
	p, x := spec.Ptr(1<<40), new(block)
	for b.Loop() {
		table.insertLocked(p, x)
		if table.findLocked(p) != x {
			b.Fatal("not found")
		}
		table.eraseLocked(p)
	}
}

// benchmarkOneSlot does so in a table in which each pointer is at its home.
func benchmarkOneSlot(b *testing.B) {
	slots := make([]slot, 2048)
	p, x := uint64(1)<<40, new(block)
	for b.Loop() {
		slots[p*golden>>53] = slot{p, x}
		if s := &slots[p*golden>>53]; s.key != p || s.block != x {
			b.Fatal("not found")
		}
		slots[p*golden>>53] = slot{}
	}
}

// benchmarkLists does what a pair does in a segment of 2 MiB: it finds the segment's block, takes
// it out, puts the rest in, takes that out, and puts the whole block in.
func benchmarkLists(b *testing.B) {
	var free sizeClasses
	x := freeBlock(2<<20, 1<<40)
	free.insert(x)
	for b.Loop() {
		if free.bestFit(512) != x {
			b.Fatal("not found")
		}
		free.remove(x)
		x.size -= 512
		free.insert(x)
		free.remove(x)
		x.size += 512
		free.insert(x)
	}
}

// benchmarkBits does so in a set with one place for each class.
func benchmarkBits(b *testing.B) {
	var places [64]*block
	used := uint64(0)
	x := freeBlock(2<<20, 1<<40)
	class := func(size uint64) int { return bits.Len64(size) & 63 }
	insert := func() { places[class(x.size)] = x; used |= 1 << class(x.size) }
	remove := func() { used &^= 1 << class(x.size) }
	insert()
	for b.Loop() {
		if places[bits.TrailingZeros64(used)&63] != x {
			b.Fatal("not found")
		}
		remove()
		x.size -= 512
		insert()
		remove()
		x.size += 512
		insert()
	}
}

// benchmarkTallies counts a pair.
func benchmarkTallies(b *testing.B) {
	var s blockStats
	for b.Loop() {
		s.allocate(spec.SmallPool, 512, 512, 1, 2<<20-512)
		s.requestFree(spec.SmallPool, 512)
		s.completeFree(spec.SmallPool, 512)
		s.inactiveSplit.add(spec.SmallPool, -1)
		s.inactiveSplitBytes.add(spec.SmallPool, -(2<<20 - 512))
	}
}

// benchmarkSums counts a pair in sums from which everything but the peaks could be derived: blocks,
// bytes and requested bytes up and down, and inactive split blocks and bytes.
func benchmarkSums(b *testing.B) {
	var s [10]int64
	for b.Loop() {
		for i := range s {
			s[i] += 512
		}
	}
	if s[0] == 1 {
		b.Fatal(s)
	}
}

// benchmarkBlocks splits a block and merges it again.
func benchmarkBlocks(b *testing.B) {
	d := new(device)
	x := d.newBlockLocked(new(segment), 1<<40, 2<<20)
	x.segment.head = x
	for b.Loop() {
		part := d.spareBlockLocked()
		part.splitOff(x, 512)
		d.absorbNextLocked(part, x)
		x = part
	}
}

// benchmarkLinks writes the four links between two blocks and sets them to nil.
func benchmarkLinks(b *testing.B) {
	x, y := new(block), new(block)
	for b.Loop() {
		x.next, y.prev, x.size, y.size = y, x, 512, 2<<20-512
		x.next, y.prev, x.size, y.size = nil, nil, 2<<20, 0
	}
}
