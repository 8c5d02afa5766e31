package upstream

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gaugeblock/spec"
)

// Class TestBlockStateAbsorption of test/test_cuda.py: the state of a graph's pool
// is saved, and the pool is set back to it.

// checkpoint saves the state of a pool (_cuda_getCheckpointState).
func (p *program) checkpoint(pool spec.PoolID) spec.PoolState {
	p.t.Helper()
	state, err := p.allocator.Checkpoint(p.device, pool)
	p.must(err)
	return state
}

// restore sets the pool back (_cuda_setCheckpointPoolState). Upstream is given the
// tensors whose memory is freed by that, so that they do not free it again, and
// those that are to own what is allocated again; here a tensor is an address, and
// owning it means to free it.
func (p *program) restore(state spec.PoolState) {
	p.t.Helper()
	_, err := p.allocator.Restore(p.device, state)
	p.must(err)
}

// sameSegments checks that every segment of before is there, with the same blocks.
// There may be more.
func (p *program) sameSegments(before []spec.Segment, pool spec.PoolID) {
	p.t.Helper()
	after := map[spec.Ptr]spec.Segment{}
	for _, g := range p.segments(pool) {
		after[g.Address] = g
	}
	for _, g := range before {
		ignore := cmp.Options{
			cmpopts.IgnoreFields(spec.Segment{}, "RequestedSize", "Context"),
			cmpopts.IgnoreFields(spec.Block{}, "RequestedSize", "Context"),
		}
		if diff := cmp.Diff(g, after[g.Address], ignore); diff != "" {
			p.t.Errorf("the segment at %v: %s", g.Address, diff)
		}
	}
}

// liveBlocks is how many blocks of a pool are allocated.
func (p *program) liveBlocks(pool spec.PoolID) (live int) {
	p.t.Helper()
	for _, b := range blocks(p.segments(pool)) {
		if b.State == spec.ActiveAllocated {
			live++
		}
	}
	return live
}

func (p *program) wantLive(pool spec.PoolID, want int) {
	p.t.Helper()
	if live := p.liveBlocks(pool); live != want {
		p.t.Errorf("%d blocks are live, want %d", live, want)
	}
}

// checkFunction makes a graph of a function, notes the state of its pool, and sets
// the pool back to it at once: nothing must have changed, and the results are live.
func checkFunction(p *program, function func(s spec.Stream) []tensor) {
	p.t.Helper()
	g, results := p.cudagraphify(p.newPoolID(), function)
	before := p.segments(g.pool)
	p.restore(p.checkpoint(g.pool))
	p.sameSegments(before, g.pool)
	p.wantLive(g.pool, len(results))
	p.free(results...)
}

// plus is the sum of two tensors that nobody else has.
func plus(p *program, s spec.Stream, a, b tensor) tensor {
	p.t.Helper()
	out := p.empty(s, max(a.Bytes, b.Bytes))
	p.kernel(s, out, a, b)
	p.free(a)
	if b != a {
		p.free(b)
	}
	return out
}

// Upstream: a function with temporaries in both halves of the pool.
func TestBlockStateAbsorption_Simple(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		checkFunction(p, func(s spec.Stream) []tensor {
			ones := func() tensor { return p.full(s, smallSize, 1) }
			x := p.full(s, 8*smallSize, 0)
			x = plus(p, s, x, x)
			x1 := plus(p, s, plus(p, s, ones(), ones()), ones())
			y := plus(p, s, ones(), x1)
			z := ones()
			return []tensor{x, y, z}
		})
	})
}

// tiles makes eleven of the smallest tensors and keeps some of them.
func tiles(p *program, s spec.Stream, keep ...int) (kept []tensor) {
	p.t.Helper()
	var all []tensor
	for range 11 {
		all = append(all, p.full(s, minBlock, 1))
	}
	for i, x := range all {
		if len(keep) > 0 && i == keep[0] {
			kept, keep = append(kept, x), keep[1:]
		} else {
			p.free(x)
		}
	}
	return kept
}

// Upstream: one tensor in the middle of a segment is left.
func TestBlockStateAbsorption_AllocatedInMiddleOfSegment(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		checkFunction(p, func(s spec.Stream) []tensor { return tiles(p, s, 5) })
	})
}

// Upstream: two are left, with free memory between them.
func TestBlockStateAbsorption_MultipleMiddleAllocations(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		checkFunction(p, func(s spec.Stream) []tensor { return tiles(p, s, 5, 8) })
	})
}

// Upstream: two neighbours are left.
func TestBlockStateAbsorption_MiddleAllocationsContiguous(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		checkFunction(p, func(s spec.Stream) []tensor { return tiles(p, s, 5, 6) })
	})
}

// tile makes one of the smallest tensors.
func tile(p *program) func(spec.Stream) []tensor {
	return func(s spec.Stream) []tensor { return []tensor{p.full(s, minBlock, 1)} }
}

// Upstream: a second graph is made after the checkpoint; setting back frees its
// result and leaves that of the first.
func TestBlockStateAbsorption_AdditionalFreeFollowingCheckpoint(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		g, _ := p.cudagraphify(p.newPoolID(), tile(p))
		before := p.segments(g.pool)
		state := p.checkpoint(g.pool)
		p.cudagraphify(g.pool, tile(p))
		p.wantLive(g.pool, 2)
		p.restore(state)
		p.sameSegments(before, g.pool)
		p.wantLive(g.pool, 1)
	})
}

// Upstream: what was freed after the checkpoint is allocated again by setting back,
// and has to be freed again.
func TestBlockStateAbsorption_TensorDiesAfterCheckpoint(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		g, outputs := p.cudagraphify(p.newPoolID(), func(s spec.Stream) []tensor {
			return append(tile(p)(s), tile(p)(s)...)
		})
		state := p.checkpoint(g.pool)
		p.free(outputs...)
		p.restore(state)
		p.wantLive(g.pool, 2)
		p.free(outputs[0])
		p.wantLive(g.pool, 1)
		p.free(outputs[1])
		p.wantLive(g.pool, 0)
	})
}

// Upstream: results of a graph that have been freed are still written when the
// graph is replayed. Setting back makes them live again, and they are freed one by
// one.
func TestBlockStateAbsorption_AssigningBackDeleterFnsToTensor(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		input := p.full(mainStream, largeBuffer, 2)
		g, outputs := p.cudagraphify(p.newPoolID(), func(s spec.Stream) (out []tensor) {
			for _, bytes := range []uint64{smallBuffer, smallBuffer, largeBuffer} {
				ones := p.full(s, bytes, 1)
				sum := p.empty(s, bytes)
				p.copy(s, sum, input)
				p.free(ones)
				out = append(out, sum)
			}
			return out
		})
		hold := func(value byte) {
			t.Helper()
			for _, x := range outputs {
				p.holds(x, value)
			}
		}
		g.replay(mainStream)
		hold(2)
		state := p.checkpoint(g.pool)
		p.wantLive(g.pool, 3)
		p.free(outputs...)
		p.wantLive(g.pool, 0)
		hold(2)

		p.fill(mainStream, input, 3)
		g.replay(mainStream)
		hold(3)
		p.restore(state)
		hold(3)
		for i, x := range outputs {
			p.wantLive(g.pool, 3-i)
			p.free(x)
		}
		p.wantLive(g.pool, 0)
	})
}

// resnet allocates as ResNet-50 does for one image of 255 by 255: for each layer
// its output, a workspace for each convolution, and no activation longer than it is
// needed.
func resnet(p *program, s spec.Stream) []tensor {
	p.t.Helper()
	convolution := func(x tensor, channels, side uint64) tensor {
		workspace := p.empty(s, floats(channels*1024))
		y := p.empty(s, floats(channels*side*side))
		p.kernel(s, y, x, workspace)
		p.free(workspace)
		return y
	}
	normalized := func(x tensor) tensor {
		y := p.clone(s, x)
		p.free(x)
		return y
	}
	image := p.empty(s, floats(3*255*255))
	x := normalized(convolution(image, 64, 128))
	p.free(image)
	for stage, blocks := range []int{3, 4, 6, 3} {
		channels, side := uint64(64)<<stage, uint64(64)>>stage
		for block := range blocks {
			identity := x
			y := normalized(convolution(x, channels, side))
			for _, wide := range []uint64{1, 4} {
				z := normalized(convolution(y, wide*channels, side))
				p.free(y)
				y = z
			}
			if block == 0 { // the sizes differ
				identity = normalized(convolution(x, 4*channels, side))
				p.free(x)
			}
			p.kernel(s, y, y, identity)
			p.free(identity)
			x = y
		}
	}
	result := p.empty(s, floats(1000))
	p.kernel(s, result, x)
	p.free(x)
	return []tensor{result}
}

// Upstream: the same with a real model.
func TestBlockStateAbsorption_Resnet(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		checkFunction(p, func(s spec.Stream) []tensor { return resnet(p, s) })
	})
}

// Upstream: the allocator knows whether exactly the given pointers of a pool are
// live.
func TestBlockStateAbsorption_CheckPoolLiveAllocations(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		pool := p.newPoolID()
		_, outputs := p.cudagraphify(pool, func(s spec.Stream) []tensor {
			return []tensor{p.full(s, floats(4), 1)}
		})
		check := func(want bool, live ...spec.Ptr) {
			t.Helper()
			same, err := p.allocator.CheckPoolLiveAllocations(p.device, pool, live)
			p.must(err)
			if same != want {
				t.Errorf("exactly %v are live: %t", live, same)
			}
		}
		check(true, outputs[0].Ptr)
		check(false, outputs[0].Ptr, 0)
		check(false)
		p.free(outputs...)
		check(true)
	})
}

// Upstream: one thread allocates from a graph's pool on a stream of its own, while
// another one allocates as usual; only the first one's memory comes from the pool.
// It is given back when the graph is gone. (Upstream's threads run freely, ours take
// turns.)
func TestBlockStateAbsorption_AllocateInThreadToPool(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		pool := p.newPoolID()
		g, outputs := p.cudagraphify(pool, func(s spec.Stream) []tensor { return []tensor{p.empty(s, floats(4))} })
		p.free(outputs...)
		segments := func(want int) {
			t.Helper()
			if n := len(p.segments(pool)); n != want {
				t.Errorf("the pool has %d segments, want %d", n, want)
			}
		}
		segments(1)

		inPool, outside := p.thread(1), p.thread(2)
		three := func(s spec.Stream) {
			a, b := inPool.full(s, largeBuffer, 1), inPool.full(s, largeBuffer, 1)
			inPool.free(plus(inPool, s, a, b))
		}
		s := p.newStream()
		p.must(p.allocator.BeginAllocateToPool(p.device, pool, spec.ForThread(inPool.caller)))
		for range 10 {
			a := outside.full(mainStream, largeBuffer, 1)
			three(s)
			b := outside.full(mainStream, largeBuffer, 1)
			outside.free(a, b)
		}
		p.must(p.allocator.EndAllocateToPool(p.device, pool))
		p.must(p.allocator.ReleasePool(p.device, pool))
		three(mainStream)
		if p.expandable() {
			segments(2)
		} else {
			segments(4)
		}
		g.reset()
		p.emptyCache()
		segments(0)
	})
}

// Upstream, later than 2.11: an expandable segment has 20 MiB at a checkpoint and 40
// when the pool is set back to it. The result is at its place, and what is free
// behind it has become larger.
func TestBlockStateAbsorption_ExpandableSegmentCheckpointGrowth(t *testing.T) {
	p := newProgram(t, setup{settings: "expandable_segments:True"})
	pool, s := p.newPoolID(), p.newStream()
	large := func(want ...string) {
		t.Helper()
		var got []string
		for _, g := range p.snapshot().Segments {
			for _, b := range g.Blocks {
				if g.PoolKind == spec.LargePool {
					got = append(got, fmt.Sprintf("%d MiB %v", b.Size/spec.MiB, b.State))
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	p.beginCapture(s, pool).end()
	original := p.checkpoint(pool)
	small, out := p.cudagraphifyOn(s, pool, func(s spec.Stream) []tensor { return []tensor{p.full(s, 2*spec.MiB, 1)} })
	large("2 MiB active_allocated", "18 MiB inactive")
	smallState := p.checkpoint(pool)
	p.free(out...)
	p.restore(original)
	p.cudagraphifyOn(s, pool, func(s spec.Stream) []tensor { return []tensor{p.full(s, 32*spec.MiB, 2)} })
	large("32 MiB active_allocated", "8 MiB inactive")
	p.restore(original)
	small.replay(s)
	p.restore(smallState)
	large("2 MiB active_allocated", "38 MiB inactive")
	p.holds(out[0], 1)
}
