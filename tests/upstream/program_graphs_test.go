package upstream

import (
	"slices"

	"gaugeblock/spec"
)

// graph is a CUDA graph and the pool that its memory comes from
// (torch.cuda.CUDAGraph).
type graph struct {
	p      *program
	stream spec.Stream
	pool   spec.PoolID
	exec   spec.GraphExec
	memory []spec.Range // what was allocated during the capture
	over   bool         // reset
}

// newPoolID names a pool that graphs can share (torch.cuda.graph_pool_handle).
func (p *program) newPoolID() spec.PoolID {
	p.owned.lastPool++
	return spec.PoolID{User: p.owned.lastPool}
}

// ownPool is what a graph is given that shares its memory with no other.
var ownPool = spec.PoolID{}

// beginCapture puts the stream's work into a graph from here on
// (CUDAGraph.capture_begin). Whatever is asked for on a stream that takes part in
// the capture comes from the graph's pool.
func (p *program) beginCapture(s spec.Stream, pool spec.PoolID) *graph {
	p.t.Helper()
	return p.beginCaptureIn(spec.CaptureGlobal, s, pool)
}

func (p *program) beginCaptureIn(mode spec.CaptureMode, s spec.Stream, pool spec.PoolID) *graph {
	p.t.Helper()
	if pool == ownPool {
		p.owned.lastPool++
		pool = spec.PoolID{Capture: p.owned.lastPool}
	}
	p.must(p.gpu.BeginCapture(p.device, s, mode))
	status, err := p.gpu.CaptureStatus(p.device, s)
	p.must(err)
	p.must(p.allocator.BeginAllocateToPool(p.device, pool, spec.ForCapture(p.gpu, status.ID)))
	g := &graph{p: p, stream: s, pool: pool}
	p.owned.graphs = append(p.owned.graphs, g)
	p.owned.capturing = g
	return g
}

// end ends the capture and makes the graph executable (CUDAGraph.capture_end).
func (g *graph) end() {
	p := g.p
	p.t.Helper()
	captured, err := p.gpu.EndCapture(p.device, g.stream)
	p.must(err)
	g.leavePool()
	g.exec, err = p.gpu.Instantiate(captured)
	p.must(err)
	p.must(p.gpu.DestroyGraph(captured))
}

// leavePool ends the diversion of requests.
func (g *graph) leavePool() {
	g.p.t.Helper()
	g.p.must(g.p.allocator.EndAllocateToPool(g.p.device, g.pool))
	g.p.owned.capturing = nil
}

// replay runs the graph's work on a stream (CUDAGraph.replay).
func (g *graph) replay(s spec.Stream) {
	g.p.t.Helper()
	g.p.must(g.p.gpu.LaunchGraph(g.exec, g.p.device, s))
}

// reset gives the graph up, and its hold on the pool (CUDAGraph.reset, and the
// destructor).
func (g *graph) reset() {
	g.p.t.Helper()
	if g.over {
		return
	}
	g.over = true
	g.p.must(g.p.allocator.ReleasePool(g.p.device, g.pool))
	if g.exec != 0 {
		g.p.must(g.p.gpu.DestroyGraphExec(g.exec))
	}
}

// overlaps reports whether two graphs write to the same memory.
func (g *graph) overlaps(o *graph) bool {
	return slices.ContainsFunc(g.memory, func(r spec.Range) bool {
		return slices.ContainsFunc(o.memory, r.Overlaps)
	})
}

// capture makes a graph of what body does (the context manager torch.cuda.graph,
// which empties the cache first).
func (p *program) capture(s spec.Stream, pool spec.PoolID, body func()) *graph {
	p.t.Helper()
	p.synchronize()
	p.emptyCache()
	g := p.beginCapture(s, pool)
	body()
	g.end()
	return g
}

// cudagraphify runs a function once to warm up, then makes a graph of it, and
// returns what the captured run returned (upstream's helper of that name). The
// function gets the stream to work on.
func (p *program) cudagraphify(pool spec.PoolID, function func(s spec.Stream) []tensor) (*graph, []tensor) {
	p.t.Helper()
	return p.cudagraphifyOn(p.newStream(), pool, function)
}

func (p *program) cudagraphifyOn(s spec.Stream, pool spec.PoolID, function func(s spec.Stream) []tensor) (g *graph, results []tensor) {
	p.t.Helper()
	p.wait(s, mainStream)
	p.free(function(s)...)
	p.wait(mainStream, s)
	g = p.capture(s, pool, func() { results = function(s) })
	return g, results
}
