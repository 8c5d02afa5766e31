package upstream

import (
	"testing"

	"gaugeblock/spec"
)

// Class TestCuda of test/test_cuda.py: graphs that share memory, or do not, and
// what they hold.

// sharings are the ways in which upstream gives two graphs their pool.
var sharings = []struct {
	name   string
	shared bool
	first  func(p *program) spec.PoolID
	second func(first *graph) spec.PoolID
}{
	{"own pools", false,
		func(*program) spec.PoolID { return ownPool },
		func(*graph) spec.PoolID { return ownPool }},
	{"the first graph's pool", true,
		func(*program) spec.PoolID { return ownPool },
		func(first *graph) spec.PoolID { return first.pool }},
	{"a pool handle", true,
		func(p *program) spec.PoolID { return p.newPoolID() },
		func(first *graph) spec.PoolID { return first.pool }},
}

// sum makes a tensor of two temporary clones of another (upstream's
// func_with_temps, which adds them up): the first half of it is of the first clone,
// the other half of the second.
func sum(p *program, s spec.Stream, in tensor) tensor {
	p.t.Helper()
	x, y := p.clone(s, in), p.clone(s, in)
	out := p.empty(s, in.Bytes)
	half := in.Bytes / 2
	p.copy(s, out.view(0, half), x.view(0, half))
	p.copy(s, out.view(half, half), y.view(half, half))
	p.free(x, y)
	return out
}

// sums does that n times over, and frees what is in between.
func sums(p *program, s spec.Stream, in tensor, n int) tensor {
	p.t.Helper()
	for range n {
		out := sum(p, s, in)
		p.free(in)
		in = out
	}
	return in
}

// Upstream: the second of two graphs goes on with the result of the first. Replayed
// with other work in between they give the right result, whether they share a pool
// or not; shared, they need one small segment less.
func TestCuda_GraphTwoSuccessive(t *testing.T) {
	reserved := map[string]int64{}
	for _, sharing := range sharings {
		t.Run(sharing.name, func(t *testing.T) {
			p := newProgram(t, setup{})
			s := p.newStream()
			a := p.full(mainStream, floats(1000), 1)
			p.wait(s, mainStream)
			g0 := p.beginCapture(s, sharing.first(p))
			b := sums(p, s, p.clone(s, a), 5)
			g0.end()
			g1 := p.beginCapture(s, sharing.second(g0))
			b = sums(p, s, b, 5)
			g1.end()
			p.wait(mainStream, s)

			for _, value := range []byte{1, 7} {
				p.fill(mainStream, a, value)
				c := sums(p, mainStream, p.clone(mainStream, a), 2)
				g0.replay(mainStream)
				c = sums(p, mainStream, c, 2)
				g1.replay(mainStream)
				c = sums(p, mainStream, c, 2)
				p.holds(b, value)
				p.holds(c, value)
				p.free(c)
			}
			reserved[sharing.name] = p.stat("reserved_bytes.all.current")
		})
	}
	for _, sharing := range sharings[1:] {
		apart, together := reserved[sharings[0].name], reserved[sharing.name]
		bothRun := apart > 0 && together > 0
		if saved := apart - together; bothRun && saved != int64(smallBuffer) {
			t.Errorf("%s: sharing saves %d bytes", sharing.name, saved)
		}
	}
}

// Upstream: two graphs are replayed at the same time on two streams. If they share
// a pool they spoil each other's results, if they do not they do not. The fake GPU
// runs a graph in one go, so ours looks at the reason: graphs of one pool write to
// the same memory.
func TestCuda_GraphConcurrentReplay(t *testing.T) {
	for _, sharing := range sharings {
		t.Run(sharing.name, func(t *testing.T) {
			p := newProgram(t, setup{})
			s, s0, s1 := p.newStream(), p.newStream(), p.newStream()
			a := p.full(mainStream, floats(1000000), 1)
			p.wait(s, mainStream)
			g0 := p.beginCapture(s, sharing.first(p))
			b := sums(p, s, p.clone(s, a), 5)
			g0.end()
			g1 := p.beginCapture(s, sharing.second(g0))
			c := sums(p, s, p.clone(s, a), 5)
			g1.end()
			if g0.overlaps(g1) != sharing.shared {
				t.Errorf("the graphs write to the same memory: %t, want %t", g0.overlaps(g1), sharing.shared)
			}
			g0.replay(s0)
			g1.replay(s1)
			p.holds(b, 1)
			p.holds(c, 1)
		})
	}
}

// Upstream: of three graphs the second frees a result c of the first, and the third
// makes f. In this order their replays are right. If they share a pool f lies where
// c was, so the second, replayed after the third, reads f instead of c.
func TestCuda_GraphThreeSuccessive(t *testing.T) {
	for _, sharing := range sharings {
		t.Run(sharing.name, func(t *testing.T) {
			p := newProgram(t, setup{})
			const bytes = 4000
			s := p.newStream()
			a := p.full(mainStream, bytes, 9)
			p.wait(s, mainStream)
			g0 := p.beginCapture(s, sharing.first(p))
			b := p.clone(s, a)
			c, d := p.full(s, bytes, 1), p.full(s, bytes, 2)
			g0.end()
			g1 := p.beginCapture(s, sharing.second(g0))
			e := p.clone(s, c)
			p.free(c)
			g1.end()
			g2 := p.beginCapture(s, sharing.second(g0))
			f := p.clone(s, d)
			g2.end()

			for _, g := range []*graph{g0, g1, g2} {
				g.replay(s)
			}
			p.holds(b, 9)
			p.holds(e, 1)
			p.holds(f, 2)
			for _, g := range []*graph{g0, g2, g1} {
				g.replay(s)
			}
			if sharing.shared {
				p.holds(e, 2)
			} else {
				p.holds(e, 1)
			}
			p.holds(f, 2)
		})
	}
}

// graphMemory is a size of tensor and what a graph with it must hold. Where the
// figures of expandable segments differ they are given apart.
type graphMemory struct {
	bytes                  uint64
	pool                   string
	segments               int64
	reserved, left         uint64
	mapped, mappedThenLeft uint64 // expandable
}

var graphMemories = []graphMemory{
	{512, "small_pool", 1, smallBuffer, smallBuffer, smallBuffer, smallBuffer},
	{smallSize, "small_pool", 2, 2 * smallBuffer, smallBuffer, 2 * smallBuffer, smallBuffer},
	{smallSize + 512, "large_pool", 1, largeBuffer, largeBuffer, largeBuffer, largeBuffer},
	{10*spec.MiB - 512, "large_pool", 2, 2 * largeBuffer, largeBuffer, 2 * largeBuffer, 2 * largeBuffer},
	{10*spec.MiB + 512, "large_pool", 3, 3 * 12 * spec.MiB, 12 * spec.MiB, 2 * largeBuffer, largeBuffer},
}

// Upstream: a graph holds as many segments, reserved bytes, active blocks and
// active bytes as its tensors need, before and after the cache is emptied. When the
// graph is gone its result can still be used, and only what the result lies in is
// still held. (Upstream counts two blocks more, for the random generator.)
func TestCuda_GraphMemoryStatsAndUseResultAfterDestroyGraph(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		for _, c := range graphMemories {
			a := p.full(s, c.bytes, 5)
			before := p.stats()
			differ := func(when string, segments int64, reserved uint64) {
				t.Helper()
				now := p.stats()
				for _, want := range []struct {
					figure string
					delta  int64
				}{{"segment", segments}, {"reserved_bytes", int64(reserved)}, {"active", 1}, {"active_bytes", int64(c.bytes)}} {
					key := want.figure + "." + c.pool + ".current"
					if delta := now[key] - before[key]; delta != want.delta {
						t.Errorf("%d bytes, %s: %s has changed by %d, want %d", c.bytes, when, key, delta, want.delta)
					}
				}
			}
			g := p.beginCapture(s, ownPool)
			b := p.clone(s, a)
			for range 5 {
				copied := p.clone(s, b)
				next := p.clone(s, copied)
				p.free(copied, b)
				b = next
			}
			g.end()
			segments, reserved, left := c.segments, c.reserved, c.left
			if p.expandable() {
				segments, reserved, left = 0, c.mapped, c.mappedThenLeft
			}
			for range 2 {
				differ("with the graph", segments, reserved)
				g.replay(s)
				p.holds(b, 5)
				p.emptyCache()
			}
			g.reset()
			p.emptyCache()
			p.holds(b, 5)
			differ("without the graph", min(segments, 1), left)
			p.free(a, b)
			p.emptyCache()
		}
	})
}
