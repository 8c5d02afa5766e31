package alloc

import (
	cmpof "cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/btree"
	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// freeBlock is a block in a segment of its own.
func freeBlock(size uint64, ptr spec.Ptr) *block { return numberedBlock(size, ptr, 0) }

// numberedBlock is one whose segment has a number.
func numberedBlock(size uint64, ptr spec.Ptr, number uint64) *block {
	return &block{size: size, ptr: ptr, segment: &segment{number: number}}
}

// orderedTree is the same contract by a library, to compare sizeClasses with.
type orderedTree struct{ tree *btree.BTreeG[*block] }

func newOrderedTree() *orderedTree {
	return &orderedTree{btree.NewBTreeG(func(a, b *block) bool { return entryOf(a).key.less(entryOf(b).key) })}
}

func (t *orderedTree) lowerBound(key blockKey) (found *block) {
	t.tree.Ascend(numberedBlock(key.size, key.ptr, key.order), func(b *block) bool {
		found = b
		return false
	})
	return found
}

func (t *orderedTree) predecessor(key blockKey) (found *block) {
	t.tree.Descend(numberedBlock(key.size, key.ptr, key.order), func(b *block) bool {
		if entryOf(b).key == key {
			return true // at the key, not below it
		}
		found = b
		return false
	})
	return found
}

// TestSizeClassesEqualTree does the same to sizeClasses and to an ordered tree from a library
// and compares every answer.
func TestSizeClassesEqualTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var classes sizeClasses
		tree := newOrderedTree()
		var members []*block
		sizes := rapid.Uint64Range(0, rapid.SampledFrom([]uint64{0, 3, 40, 4000, 1 << 62}).Draw(t, "sizes"))
		mixer := rapid.SampledFrom([]spec.Ptr{1, 1<<16 - 3, 40_503}).Draw(t, "order") // ascending, descending, mixed
		orders := rapid.Uint64Range(0, rapid.SampledFrom([]uint64{0, 3, 1 << 62}).Draw(t, "orders"))
		inserted := spec.Ptr(0)
		nextPtr := func() spec.Ptr {
			inserted++
			return inserted * mixer % (1 << 16)
		}
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) {
				// A run of insertions, so that chunks fill and split.
				for range rapid.IntRange(1, 200).Draw(t, "run") {
					b := numberedBlock(sizes.Draw(t, "size"), nextPtr(), orders.Draw(t, "number"))
					classes.insert(b)
					tree.tree.Set(b)
					members = append(members, b)
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 200).Draw(t, "run") {
					if len(members) == 0 {
						return
					}
					i := rapid.IntRange(0, len(members)-1).Draw(t, "which")
					classes.remove(members[i])
					tree.tree.Delete(members[i])
					members = slices.Delete(members, i, i+1)
				}
			},
			"search": func(t *rapid.T) {
				k := blockKey{sizes.Draw(t, "size"), orders.Draw(t, "order"), spec.Ptr(rapid.Uint64Range(0, 1<<16).Draw(t, "ptr"))}
				if len(members) > 0 && rapid.Bool().Draw(t, "there") {
					k = entryOf(members[rapid.IntRange(0, len(members)-1).Draw(t, "member")]).key
				}
				if got, want := classes.lowerBound(k), tree.lowerBound(k); got != want {
					t.Fatalf("lowerBound(%v): got %v, want %v", k, got, want)
				}
				if got, want := classes.bestFit(k.size), tree.lowerBound(blockKey{size: k.size}); got != want {
					t.Fatalf("bestFit(%d): got %v, want %v", k.size, got, want)
				}
				if got, want := classes.predecessor(k), tree.predecessor(k); got != want {
					t.Fatalf("predecessor(%v): got %v, want %v", k, got, want)
				}
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(addresses(tree.tree.Items()), addresses(slices.Collect(classes.all()))); diff != "" {
					t.Fatalf("order differs (-tree +classes):\n%s", diff)
				}
			},
		})
	})
}

// walkBothWays lists the blocks in order, as walks forward with after and backward with before meet
// them.
func walkBothWays(classes *sizeClasses) (forward, backward []*block) {
	for b := classes.lowerBound(blockKey{}); b != nil; b = classes.after(b) {
		forward = append(forward, b)
	}
	for b := classes.predecessor(blockKey{size: spec.Unlimited}); b != nil; b = classes.before(b) {
		backward = append(backward, b)
	}
	slices.Reverse(backward)
	return forward, backward
}

// TestSizeClassesNeighbours walks forward with after and backward with before.
func TestSizeClassesNeighbours(t *testing.T) {
	var classes sizeClasses
	const n = 5 * chunkLimit
	for i := range n {
		classes.insert(freeBlock(uint64(i/70)*512, spec.Ptr(n-i)))
	}
	forward, backward := walkBothWays(&classes)
	if len(forward) != n || !slices.Equal(forward, backward) {
		t.Errorf("walking forward gives %d blocks, backward %d, there are %d", len(forward), len(backward), n)
	}
	if !slices.IsSortedFunc(forward, func(a, b *block) int {
		return cmpof.Or(cmpof.Compare(a.size, b.size), cmpof.Compare(a.ptr, b.ptr))
	}) {
		t.Error("the walk is not in order of size and address")
	}
}

// TestClassOf: a class does not descend when the size rises, and small sizes of the default
// geometry have classes of their own.
func TestClassOf(t *testing.T) {
	place := func(size uint64) uint {
		o, c := classOf(size)
		return o<<classBits + c
	}
	for size := uint64(1); size < 1<<20; size++ {
		if place(size) < place(size-1) {
			t.Fatalf("%d is in class %d, and %d in %d", size-1, place(size-1), size, place(size))
		}
	}
	for shift := range 64 {
		size := uint64(1) << shift
		if place(size-1) > place(size) || place(size) > place(size|1) {
			t.Errorf("the classes around %d do not rise", size)
		}
	}
	for size := uint64(512); size < 64*spec.KiB; size += 512 {
		if place(size) == place(size+512) {
			t.Errorf("%d and %d are in one class", size, size+512)
		}
	}
	if o, c := classOf(spec.Unlimited); o != 63 || c != 63 {
		t.Errorf("the largest size is in octave %d, class %d", o, c)
	}
}

// TestSizeClassesMisuse: a call that breaks the contract panics.
func TestSizeClassesMisuse(t *testing.T) {
	b, twin := freeBlock(512, 4096), freeBlock(512, 4096)
	many := func(s *sizeClasses) {
		for i := range spec.Ptr(3 * fewEntries) {
			s.insert(freeBlock(512, 4096*(i+1)))
		}
	}
	for name, misuse := range map[string]func(*sizeClasses){
		"inserted twice":         func(s *sizeClasses) { s.insert(b); s.insert(b) },
		"removed from empty":     func(s *sizeClasses) { s.remove(b) },
		"removed twice":          func(s *sizeClasses) { s.insert(b); s.remove(b); s.remove(b) },
		"removed by a twin":      func(s *sizeClasses) { s.insert(b); twin.class = b.class; s.remove(twin) },
		"inserted twice of many": func(s *sizeClasses) { many(s); s.insert(freeBlock(512, 4096*3*fewEntries)) },
		"removed from elsewhere": func(s *sizeClasses) { s.insert(freeBlock(1, 0)); s.remove(b) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			misuse(new(sizeClasses))
		})
	}
}

// TestNothingIsLeft: after the last block of a class, of few or many, was removed, in whatever
// order, no bit says that there is one.
func TestNothingIsLeft(t *testing.T) {
	for _, n := range []spec.Ptr{1, 2, fewEntries, 2 * chunkLimit} {
		for _, lastFirst := range []bool{false, true} {
			var classes sizeClasses
			var blocks []*block
			for i := range n {
				blocks = append(blocks, freeBlock(512, 512*(i+1)))
				classes.insert(blocks[i])
			}
			if lastFirst {
				slices.Reverse(blocks)
			}
			for _, b := range blocks {
				classes.remove(b)
			}
			if b := classes.bestFit(1); b != nil || classes.used != 0 || classes.byOctave[9].used != 0 {
				t.Errorf("%d blocks, the last first: %v: the best fit is %v, the bits are %b and %b", n, lastFirst, b, classes.used, classes.byOctave[9].used)
			}
		}
	}
}

// TestBestFit: the best fit in a class of two sizes, of which there are few or many, and what
// follows a block, are those of an ordered tree, while the blocks are removed up to the last.
func TestBestFit(t *testing.T) {
	const small, large, next, larger = 600 * spec.KiB, 600*spec.KiB + 512, 608 * spec.KiB, 8 * spec.MiB // next is in the next class
	for _, n := range []spec.Ptr{1, 2, fewEntries / 2, fewEntries, 3 * chunkLimit} {
		for _, largeFirst := range []bool{false, true} {
			var classes sizeClasses
			tree := newOrderedTree()
			var members []*block
			add := func(b *block) { classes.insert(b); tree.tree.Set(b); members = append(members, b) }
			for i := range n {
				add(freeBlock(small, 512*(i+1)))
			}
			for i := range n {
				add(freeBlock(large, 512*(n+i+1)))
			}
			if largeFirst {
				slices.Reverse(members)
			}
			add(freeBlock(next, 1<<40))
			add(freeBlock(larger, 1<<41))
			for i, b := range members {
				for _, size := range []uint64{512, small, small + 1, large, large + 1, next, next + 1, larger, larger + 1} {
					if got, want := classes.bestFit(size), tree.lowerBound(blockKey{size: size}); got != want {
						t.Fatalf("%d of each size, %d removed: the best fit for %d is %+v, want %+v", n, i, size, got, want)
					}
				}
				if got, want := classes.after(b), tree.lowerBound(blockKey{size: b.size, ptr: b.ptr + 1}); got != want {
					t.Fatalf("%d of each size, %d removed: %+v follows %+v, want %+v", n, i, got, b, want)
				}
				classes.remove(b)
				tree.tree.Delete(b)
			}
			if got := classes.bestFit(512); got != nil {
				t.Errorf("%d of each size: %+v is the best fit of none", n, got)
			}
		}
	}
}

func addresses(blocks []*block) []spec.Ptr {
	ptrs := make([]spec.Ptr, 0, len(blocks))
	for _, b := range blocks {
		ptrs = append(ptrs, b.ptr)
	}
	return ptrs
}

// BenchmarkFreeList takes the best fit out of a free list and puts a block of
// another size in, in sizeClasses and in an ordered tree from a library.
func BenchmarkFreeList(b *testing.B) {
	for _, n := range []int{10, 1000, 30000} {
		b.Run(fmt.Sprintf("classes/n=%d", n), func(b *testing.B) {
			var set sizeClasses
			random, fill := sizes(), func(x *block) { set.insert(x) }
			fillFreeList(n, random, fill)
			for b.Loop() {
				x := set.lowerBound(blockKey{size: random()})
				if x == nil {
					x = set.lowerBound(blockKey{})
				}
				set.remove(x)
				x.size = random()
				set.insert(x)
			}
		})
		b.Run(fmt.Sprintf("tree/n=%d", n), func(b *testing.B) {
			tree := newOrderedTree()
			random, fill := sizes(), func(x *block) { tree.tree.Set(x) }
			fillFreeList(n, random, fill)
			for b.Loop() {
				x := tree.lowerBound(blockKey{size: random()})
				if x == nil {
					x = tree.lowerBound(blockKey{})
				}
				tree.tree.Delete(x)
				x.size = random()
				tree.tree.Set(x)
			}
		})
	}
}

// sizes draws multiples of 512 up to 2 MiB.
func sizes() func() uint64 {
	state := uint64(1)
	return func() uint64 {
		state = state*6364136223846793005 + 1442695040888963407
		return (state>>33%4096 + 1) * 512
	}
}

func fillFreeList(n int, size func() uint64, insert func(*block)) {
	for i := range n {
		insert(freeBlock(size(), spec.Ptr(i+1)<<21))
	}
}

// TestChunksAreBounded: however many blocks a list has, no part of it is longer than chunkLimit.
func TestChunksAreBounded(t *testing.T) {
	var list blockList
	for i := range spec.Ptr(1000) {
		list.insert(entryOf(freeBlock(512, (i*7919)%1000*512)))
	}
	longest := len(list.front)
	for _, c := range list.more.chunks {
		longest = max(longest, len(c))
	}
	if longest > chunkLimit {
		t.Errorf("a part has %d blocks", longest)
	}
}
