package alloc

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestStreamLists compares the lists of a block pool with a map from each segment to its block,
// which is free or unmapped.
func TestStreamLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lists blocksByStream
		segments := map[*segment]*block{}
		streams := rapid.Custom(func(t *rapid.T) spec.Stream {
			return spec.Stream(rapid.IntRange(0, 60).Draw(t, "stream")) << 40
		})
		next := spec.Ptr(0)
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "run") {
					next++
					s := &segment{stream: streams.Draw(t, "stream")}
					b := &block{segment: s, ptr: next, size: uint64(rapid.IntRange(1, 3).Draw(t, "size")), mapped: rapid.Bool().Draw(t, "mapped")}
					lists.addSegment(s)
					if b.mapped {
						s.lists.free.insert(b)
					} else {
						b.insertUnmapped()
					}
					segments[s] = b
				}
			},
			"remove": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "run") {
					if len(segments) == 0 {
						return
					}
					all := slices.SortedFunc(maps.Keys(segments), func(a, b *segment) int { return int(segments[a].ptr) - int(segments[b].ptr) })
					s := rapid.SampledFrom(all).Draw(t, "segment")
					segments[s].removeFromList()
					lists.removeSegment(s)
					delete(segments, s)
				}
			},
			"": func(t *rapid.T) {
				byStream := map[spec.Stream][]*block{}
				for s, b := range segments {
					byStream[s.stream] = append(byStream[s.stream], b)
				}
				var free, unmapped []spec.Ptr
				for _, stream := range slices.Sorted(maps.Keys(byStream)) {
					slices.SortFunc(byStream[stream], func(a, b *block) int { return int(a.ptr) - int(b.ptr) })
					var mapped, ofStream []*block
					for _, b := range byStream[stream] {
						if b.mapped {
							mapped = append(mapped, b)
						} else {
							ofStream = append(ofStream, b)
						}
					}
					slices.SortStableFunc(mapped, func(a, b *block) int { return int(a.size) - int(b.size) })
					free = append(free, addresses(mapped)...)
					unmapped = append(unmapped, addresses(ofStream)...)
					if diff := cmp.Diff(addresses(ofStream), addresses(slices.Collect(lists.of(stream).unmapped.all()))); diff != "" {
						t.Fatalf("unmapped blocks of stream %v: %s", stream, diff)
					}
				}
				if diff := cmp.Diff(free, addresses(slices.Collect(lists.allFree()))); len(free) > 0 && diff != "" {
					t.Fatalf("free blocks: %s", diff)
				}
				if diff := cmp.Diff(unmapped, addresses(slices.Collect(lists.allUnmapped()))); len(unmapped) > 0 && diff != "" {
					t.Fatalf("unmapped blocks: %s", diff)
				}
				if len(lists.lists) != len(byStream) || len(lists.handles) != len(byStream) {
					t.Fatalf("there are %d lists and %d handles for %d streams", len(lists.lists), len(lists.handles), len(byStream))
				}
				stream := streams.Draw(t, "any stream")
				if l := lists.of(stream); (l != nil) != (byStream[stream] != nil) || l != nil && l.stream != stream {
					t.Fatalf("the lists of stream %v are %v", stream, l)
				}
			},
		})
	})
}

// TestStreamListsAreDropped: when the cache has been emptied, no lists are left of the streams that
// there have been.
func TestStreamListsAreDropped(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		gpu := fakegpu.New(fakegpu.Config{})
		a, err := New(gpu, Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			stream, err := gpu.CreateStream(0)
			if err != nil {
				t.Fatal(err)
			}
			ptr, err := a.Malloc(spec.Request{Stream: stream, Bytes: 512})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Free(ptr); err != nil {
				t.Fatal(err)
			}
		}
		lists := &a.devices[0].defaultPool.smallBlocks.blocks
		before := len(lists.lists)
		if err := a.EmptyCache(); err != nil {
			t.Fatal(err)
		}
		if before != 10 || len(lists.lists) != 0 {
			t.Errorf("%q: there are lists of %d streams, and of %d when the cache has been emptied", settings, before, len(lists.lists))
		}
	}
}
