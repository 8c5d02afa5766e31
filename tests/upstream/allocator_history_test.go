package upstream

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
)

// Class TestCudaAllocator of test/test_cuda.py (TestCudaMallocAsync in older
// releases): the history of memory, and what snapshots show of it. Upstream's
// context is a stack of frames, found in a text that a snapshot is written to;
// ours is whatever the program returns when it is asked, here the name of the
// function it is in.

// oddBytes is upstream's favourite tensor, small and of a size that nothing else has.
var oddBytes = floats(311 * 411)

// Upstream: a tensor is allocated second in a segment, and a thousand small ones
// come and go. The snapshot has its block at its address, with the place where it
// was allocated, and every segment says where it was obtained. When all is freed and
// the cache emptied, the last entry of the trace is that of a segment.
func TestCudaAllocator_MemorySnapshot(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.record(spec.HistoryOptions{Level: spec.ContextState, MaxEntries: 1})
		var x, unused tensor
		p.in("train", func() {
			p.free(p.empty(mainStream, 2*oddBytes))
			unused = p.empty(mainStream, floats(310*410))
			x = p.empty(mainStream, oddBytes)
			var tiles []tensor
			for range 1000 {
				tiles = append(tiles, p.empty(mainStream, floats(128)))
			}
			for i := range tiles {
				p.free(tiles[i*7%len(tiles)]) // in some order, all of them
			}
			p.free(p.empty(mainStream, floats(5*128)))
		})
		for _, g := range p.snapshot().Segments {
			if g.Context != "train" {
				t.Errorf("the segment at %v comes from %v", g.Address, g.Context)
			}
		}
		want := spec.Block{Address: x.Ptr, Size: 511488, RequestedSize: oddBytes, State: spec.ActiveAllocated, Context: "train"}
		if got, _ := p.blockOf(x); got != want {
			t.Error(cmp.Diff(want, got))
		}

		p.free(unused, x)
		p.emptyCache()
		trace := p.trace()
		last := trace[len(trace)-1].Action
		if last != spec.ActionSegmentFree && last != spec.ActionSegmentUnmap {
			t.Errorf("the last entry is %v", last)
		}
	})
}

// Upstream, later than 2.11: one call tells where a live pointer was allocated; for
// a freed one it tells nothing. Ours has the snapshot for that.
func TestCudaAllocator_AllocationTraceback(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.record(spec.HistoryOptions{Level: spec.ContextAll})
		var x tensor
		p.in("load_weights", func() { x = p.empty(mainStream, oddBytes) })
		if b, _ := p.blockOf(x); b.Context != "load_weights" {
			t.Errorf("the block was allocated in %v", b.Context)
		}
		p.free(x)
		p.emptyCache()
		if b, there := p.blockOf(x); there {
			t.Errorf("the block is still there: %v", b)
		}
	})
}

// Upstream, later than 2.11: while no history is recorded nothing is known.
func TestCudaAllocator_AllocationTracebackNoRecording(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		x := p.empty(mainStream, floats(64))
		if b, there := p.blockOf(x); !there || b.Context != nil {
			t.Errorf("the block was allocated in %v", b.Context)
		}
	})
}

// frames is a context of several languages.
type frames struct{ python, script, cpp string }

// Upstream: the context may have frames of C++. Ours keeps whatever it is given.
func TestCudaAllocator_MemorySnapshotWithCpp(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.record(spec.HistoryOptions{Level: spec.ContextState, MaxEntries: 1})
		place := frames{python: "train.py", cpp: "at::rand"}
		var x tensor
		p.in(place, func() { x = p.empty(mainStream, oddBytes) })
		if b, _ := p.blockOf(x); b.Context != place {
			t.Errorf("the block was allocated in %v", b.Context)
		}
	})
}

// Upstream: the context may have frames of TorchScript. Ours keeps whatever it is
// given.
func TestCudaAllocator_MemorySnapshotScript(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.record(spec.HistoryOptions{Level: spec.ContextState, MaxEntries: 1})
		place := frames{script: "foo"}
		var x tensor
		p.in(place, func() { x = p.empty(mainStream, oddBytes) })
		if b, _ := p.blockOf(x); b.Context != place {
			t.Errorf("the block was allocated in %v", b.Context)
		}
	})
}

// Upstream: plots can be made of a history, with and without places. Ours has no
// plots; what they are made of is there.
func TestCudaAllocator_MemoryPlots(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		for _, level := range []spec.ContextLevel{spec.ContextAll, spec.ContextNever} {
			p.emptyCache()
			p.record(spec.HistoryOptions{Level: level})
			p.in("run", func() {
				x := p.empty(mainStream, floats(128*128))
				square1, square2 := p.clone(mainStream, x), p.clone(mainStream, x)
				sum := p.clone(mainStream, square1)
				p.free(square1, square2, sum, x)
			})
			if got, want := p.mentions("run"), level != spec.ContextNever; got != want {
				t.Errorf("level %d: the place is mentioned: %t", level, got)
			}
			allocs := 0
			for _, e := range p.trace() {
				if e.Action == spec.ActionAlloc && e.Size == floats(128*128) {
					allocs++
				}
			}
			if allocs != 4 {
				t.Errorf("level %d: the trace has %d allocations", level, allocs)
			}
			p.stop()
		}
	})
}

// Upstream: the place of a free is known at the level "all" only, that of an
// allocation that is over at "alloc" and "all"; at "state" only what is allocated
// now has a place. (A tensor keeps the segment: a new one would have a place, too.)
func TestCudaAllocator_MemoryPlotsFreeStack(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		p.empty(mainStream, 1)
		for _, level := range []spec.ContextLevel{spec.ContextAlloc, spec.ContextAll, spec.ContextState} {
			p.record(spec.HistoryOptions{Level: level})
			var x tensor
			p.in("allocate", func() { x = p.empty(mainStream, floats(3*4)) })
			p.in("drop", func() { p.free(x) })
			if got, want := p.mentions("drop"), level == spec.ContextAll; got != want {
				t.Errorf("level %d: the free is mentioned: %t", level, got)
			}
			if got, want := p.mentions("allocate"), level != spec.ContextState; got != want {
				t.Errorf("level %d: the allocation is mentioned: %t", level, got)
			}
			p.stop()
		}
	})
}

// Upstream: a compiled model runs in two regions, the second within the first; the
// entries of its allocations name the region they were made in.
func TestCudaAllocator_MemoryCompileRegions(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		const outer, inner = "Torch-Compiled Region: 0/0", "Torch-Compiled Region: 1/0"
		work := func() { p.free(p.empty(mainStream, floats(10))) }
		p.record(spec.HistoryOptions{Level: spec.ContextAll})
		work()
		p.allocator.PushCompileContext(p.caller, outer)
		work()
		p.allocator.PushCompileContext(p.caller, inner)
		work()
		p.allocator.PopCompileContext(p.caller)
		work()
		p.allocator.PopCompileContext(p.caller)
		work()
		var regions []string
		for _, e := range p.trace() {
			regions = append(regions, e.CompileContext)
		}
		want := []string{"N/A", outer, inner, outer, "N/A"}
		if diff := cmp.Diff(want, slices.Compact(regions)); diff != "" {
			t.Error(diff)
		}
	})
}

// Upstream: whether places are kept can be changed while a history is recorded.
func TestCudaAllocator_MemoryPlotsHistoryContext(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		for _, step := range []struct {
			place string
			level spec.ContextLevel
		}{
			{"before", spec.ContextAll},
			{"between", spec.ContextNever},
			{"after", spec.ContextAll},
		} {
			p.record(spec.HistoryOptions{Level: step.level})
			p.in(step.place, func() { p.empty(mainStream, floats(4*4)) })
		}
		for place, want := range map[string]bool{"before": true, "between": false, "after": true} {
			if p.mentions(place) != want {
				t.Errorf("%s is mentioned: %t", place, !want)
			}
		}
	})
}

// Upstream: the place where a segment goes back to the driver is known at the level
// "all" only.
func TestCudaAllocator_MemoryPlotsFreeSegmentStack(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		for _, level := range []spec.ContextLevel{spec.ContextAlloc, spec.ContextAll, spec.ContextState} {
			p.record(spec.HistoryOptions{Level: level})
			p.free(p.empty(mainStream, floats(3*4)))
			p.in("empty_cache", func() { p.emptyCache() })
			if got, want := p.mentions("empty_cache"), level == spec.ContextAll; got != want {
				t.Errorf("level %d: empty_cache is mentioned: %t", level, got)
			}
			p.stop()
		}
	})
}

// Upstream: every entry carries the text that the program has set.
func TestCudaAllocator_MemoryPlotsMetadata(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		for _, level := range []spec.ContextLevel{spec.ContextAlloc, spec.ContextAll, spec.ContextState} {
			p.allocator.SetUserMetadata(p.caller, "step 12")
			p.record(spec.HistoryOptions{Level: level})
			p.free(p.empty(mainStream, floats(3*4)))
			p.emptyCache()
			p.allocator.SetUserMetadata(p.caller, "")
			trace := p.trace()
			if len(trace) != 5 {
				t.Errorf("%d entries, want a segment coming and going, an allocation and a free of two entries", len(trace))
			}
			for _, e := range trace {
				if e.UserMetadata != "step 12" {
					t.Errorf("%v says %q", e.Action, e.UserMetadata)
				}
			}
			p.stop()
		}
	})
}

// Upstream: actions that are to be left out are not in the trace, the others are.
func TestCudaAllocator_MemorySnapshotSkipActions(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		seen := func(skip []spec.Action) (actions []spec.Action) {
			p.record(spec.HistoryOptions{Level: spec.ContextAll, Skip: skip})
			p.free(p.empty(mainStream, floats(128*128)))
			p.emptyCache()
			for _, e := range p.trace() {
				actions = append(actions, e.Action)
			}
			p.stop()
			return actions
		}
		all := seen(nil)
		if len(all) != 5 {
			t.Errorf("the trace is %v, want a segment coming and going, an allocation and a free of two entries", all)
		}
		for _, skip := range [][]spec.Action{
			{spec.ActionFreeRequested},
			{spec.ActionFreeRequested, spec.ActionFreeCompleted},
			{spec.ActionAlloc},
			{spec.ActionSegmentAlloc, spec.ActionSegmentFree, spec.ActionSegmentMap, spec.ActionSegmentUnmap},
		} {
			want := slices.DeleteFunc(slices.Clone(all), func(a spec.Action) bool { return slices.Contains(skip, a) })
			if diff := cmp.Diff(want, seen(skip)); diff != "" {
				t.Errorf("without %v: %s", skip, diff)
			}
		}
	})
}

// Upstream: a history of ten entries, with places and without, written to a file
// from C++. (Ours writes no pickles.) A block of the size is allocated, and the last
// entry is its allocation, with the size that was asked for.
func TestCudaAllocator_CppMemorySnapshotPickle(t *testing.T) {
	storytellers(t, func(t *testing.T, p *storyteller) {
		for _, level := range []spec.ContextLevel{spec.ContextNever, spec.ContextAll} {
			p.record(spec.HistoryOptions{Level: level, MaxEntries: 10})
			for range 10 {
				p.free(p.empty(mainStream, floats(3)))
			}
			place := frames{"train.py", "forward", "at::rand"}
			var x tensor
			p.in(place, func() { x = p.empty(mainStream, oddBytes) })
			trace := p.trace()
			last := trace[len(trace)-1]
			if len(trace) != 10 || last.Action != spec.ActionAlloc || last.Size != oddBytes || last.Addr != x.Ptr {
				t.Errorf("%d entries, the last one is %+v", len(trace), last)
			}
			b, _ := p.blockOf(x)
			if b.State != spec.ActiveAllocated || b.RequestedSize != oddBytes || (b.Context == place) != (level == spec.ContextAll) {
				t.Errorf("the block is %+v", b)
			}
			p.stop()
		}
	})
}
