package alloc

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/btree"
	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// blockOn is a block of a segment of its own.
func blockOn(stream spec.Stream, size uint64, ptr spec.Ptr) *block {
	return &block{segment: &segment{stream: stream}, size: size, ptr: ptr}
}

// orderedTree is the same contract by a library, to compare a blockSet with.
type orderedTree struct {
	tree *btree.BTreeG[*block]
	rank func(*block) uint64
}

func newOrderedTree(bySize bool) *orderedTree {
	rank := func(b *block) uint64 { return 0 }
	if bySize {
		rank = func(b *block) uint64 { return b.size }
	}
	less := func(a, b *block) bool {
		if a.segment.stream != b.segment.stream {
			return a.segment.stream < b.segment.stream
		}
		return blockKey{rank(a), a.ptr}.less(blockKey{rank(b), b.ptr})
	}
	return &orderedTree{tree: btree.NewBTreeG(less), rank: rank}
}

func (t *orderedTree) lowerBound(stream spec.Stream, key blockKey) *block {
	pivot := blockOn(stream, key.size, key.ptr)
	var found *block
	t.tree.Ascend(pivot, func(b *block) bool {
		if b.segment.stream == stream {
			found = b
		}
		return false
	})
	return found
}

func (t *orderedTree) predecessor(stream spec.Stream, key blockKey) *block {
	pivot := blockOn(stream, key.size, key.ptr)
	var found *block
	t.tree.Descend(pivot, func(b *block) bool {
		if b.segment.stream == stream && (blockKey{t.rank(b), b.ptr}) == key {
			return true // at the key, not below it
		}
		if b.segment.stream == stream {
			found = b
		}
		return false
	})
	return found
}

// TestBlockSetEqualsTree does the same to a blockSet and to an ordered tree from a
// library and compares every answer.
func TestBlockSetEqualsTree(t *testing.T) {
	for _, bySize := range []bool{true, false} {
		rapid.Check(t, func(t *rapid.T) {
			set := blockSet{bySize: bySize}
			tree := newOrderedTree(bySize)
			var members []*block
			streams := rapid.SampledFrom([]spec.Stream{0, 7, 9, 1 << 40})
			sizes := rapid.Uint64Range(1, rapid.SampledFrom([]uint64{3, 40, 4000}).Draw(t, "sizes"))
			mixer := rapid.SampledFrom([]spec.Ptr{1, 1<<16 - 3, 40_503}).Draw(t, "order") // ascending, descending, mixed
			inserted := spec.Ptr(0)
			nextPtr := func() spec.Ptr {
				inserted++
				return inserted * mixer % (1 << 16)
			}
			key := func() blockKey {
				k := blockKey{ptr: spec.Ptr(rapid.Uint64Range(0, 1<<16).Draw(t, "ptr"))}
				if len(members) > 0 && rapid.Bool().Draw(t, "there") {
					k.ptr = members[rapid.IntRange(0, len(members)-1).Draw(t, "member")].ptr
				}
				if bySize {
					k.size = sizes.Draw(t, "rank")
				}
				return k
			}
			t.Repeat(map[string]func(*rapid.T){
				"insert": func(t *rapid.T) {
					// A run of insertions, so that chunks fill and split.
					for range rapid.IntRange(1, 200).Draw(t, "run") {
						b := blockOn(streams.Draw(t, "stream"), sizes.Draw(t, "size"), nextPtr())
						set.insert(b)
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
						set.remove(members[i])
						tree.tree.Delete(members[i])
						members = slices.Delete(members, i, i+1)
					}
				},
				"search": func(t *rapid.T) {
					stream, k := streams.Draw(t, "stream"), key()
					if got, want := set.lowerBound(stream, k), tree.lowerBound(stream, k); got != want {
						t.Fatalf("lowerBound(%v, %v): got %v, want %v", stream, k, got, want)
					}
					if got, want := set.predecessor(stream, k), tree.predecessor(stream, k); got != want {
						t.Fatalf("predecessor(%v, %v): got %v, want %v", stream, k, got, want)
					}
				},
				"": func(t *rapid.T) {
					if diff := cmp.Diff(addresses(tree.tree.Items()), addresses(slices.Collect(set.all()))); diff != "" {
						t.Fatalf("order differs (-tree +set):\n%s", diff)
					}
				},
			})
		})
	}
}

// TestBlockSetNeighbours walks forward with after and backward with before.
func TestBlockSetNeighbours(t *testing.T) {
	set := blockSet{bySize: true}
	const n = 5 * chunkLimit
	for i := range n {
		b := blockOn(3, uint64(i/7)*512, spec.Ptr(n-i))
		set.insert(b)
	}
	set.insert(blockOn(2, 1<<30, 1))
	set.insert(blockOn(4, 512, 1))

	var forward, backward []*block
	for b := set.lowerBound(3, blockKey{}); b != nil; b = set.after(b) {
		forward = append(forward, b)
	}
	for b := set.predecessor(3, blockKey{size: spec.Unlimited}); b != nil; b = set.before(b) {
		backward = append(backward, b)
	}
	slices.Reverse(backward)
	if len(forward) != n || !slices.Equal(forward, backward) {
		t.Errorf("walking forward gives %d blocks, backward %d, there are %d", len(forward), len(backward), n)
	}
	if !slices.IsSortedFunc(forward, func(a, b *block) int {
		if set.key(a).less(set.key(b)) {
			return -1
		}
		return 1
	}) {
		t.Error("the walk is not in order of size and address")
	}
}

// TestBlockSetMisuse: a call that breaks the contract panics.
func TestBlockSetMisuse(t *testing.T) {
	b := blockOn(1, 512, 4096)
	twin := blockOn(1, 512, 4096)
	for name, misuse := range map[string]func(*blockSet){
		"inserted twice":         func(s *blockSet) { s.insert(b); s.insert(b) },
		"removed from empty":     func(s *blockSet) { s.remove(b) },
		"removed twice":          func(s *blockSet) { s.insert(b); s.remove(b); s.remove(b) },
		"removed by a twin":      func(s *blockSet) { s.insert(b); s.remove(twin) },
		"removed from elsewhere": func(s *blockSet) { s.insert(blockOn(1, 1, 0)); s.remove(b) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("there was no panic")
				}
			}()
			misuse(&blockSet{bySize: true})
		})
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
// another size in, in a blockSet and in an ordered tree from a library.
func BenchmarkFreeList(b *testing.B) {
	for _, n := range []int{10, 1000, 30000} {
		b.Run(fmt.Sprintf("set/n=%d", n), func(b *testing.B) {
			set := blockSet{bySize: true}
			random, fill := sizes(), func(x *block) { set.insert(x) }
			fillFreeList(n, random, fill)
			for b.Loop() {
				x := set.lowerBound(1, blockKey{size: random()})
				if x == nil {
					x = set.lowerBound(1, blockKey{})
				}
				set.remove(x)
				x.size = random()
				set.insert(x)
			}
		})
		b.Run(fmt.Sprintf("tree/n=%d", n), func(b *testing.B) {
			tree := newOrderedTree(true)
			random, fill := sizes(), func(x *block) { tree.tree.Set(x) }
			fillFreeList(n, random, fill)
			for b.Loop() {
				x := tree.lowerBound(1, blockKey{size: random()})
				if x == nil {
					x = tree.lowerBound(1, blockKey{})
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
		insert(blockOn(1, size(), spec.Ptr(i+1)<<21))
	}
}
