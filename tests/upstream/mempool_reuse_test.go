package upstream

import (
	"testing"

	"gaugeblock/spec"
)

// Class TestMemPool of test/test_cuda.py: memory that is freed in a capture and
// used again in it (graph_capture_record_stream_reuse).

const reuse = "graph_capture_record_stream_reuse:True"

// reused says whether two tensors lie at the same address.
func (p *program) reused(what string, freed, later tensor, want bool) {
	p.t.Helper()
	if got := freed.Ptr == later.Ptr; got != want {
		p.t.Errorf("%s: the memory is used again: %t, want %t", what, got, want)
	}
}

// fork makes another stream join the capture and read a tensor there.
func (p *program) fork(s, side spec.Stream, data tensor) {
	p.t.Helper()
	p.wait(side, s)
	out := p.empty(side, data.Bytes)
	p.kernel(side, out, data)
	p.recordStream(data, side)
}

// Upstream: a tensor is freed while another stream reads it. Its memory is not used
// again before the streams have joined, and is used again after that.
func TestMemPool_GraphCaptureReclaim2Streams(t *testing.T) {
	p := newProgram(t, setup{settings: reuse})
	s1, s2 := p.newStream(), p.newStream()
	g := p.beginCapture(s1, ownPool)
	sink := p.empty(s1, floats(8))
	data := p.empty(s1, floats(8))
	p.fork(s1, s2, data)
	p.free(data)
	before := p.empty(s1, floats(8))
	p.wait(s1, s2)
	p.fill(s1, sink, 1)
	after := p.empty(s1, floats(8))
	g.end()
	p.reused("before the join", data, before, false)
	p.reused("after the join", data, after, true)
}

// Upstream: three other streams read the tensor. It takes all of them to have
// joined, two of them by way of each other.
func TestMemPool_GraphCaptureReclaim4Streams(t *testing.T) {
	p := newProgram(t, setup{settings: reuse})
	s1, s2, s3, s4 := p.newStream(), p.newStream(), p.newStream(), p.newStream()
	g := p.beginCapture(s1, ownPool)
	data := p.full(s1, floats(8), 1)
	sink1, sink3 := p.empty(s1, floats(8)), p.empty(s1, floats(8))
	for _, side := range []spec.Stream{s2, s3, s4} {
		p.fork(s1, side, data)
	}
	p.free(data)
	p.wait(s1, s2)
	p.fill(s1, sink1, 1)
	p.wait(s3, s4)
	p.fill(s3, sink3, 3)
	p.recordStream(sink3, s3)
	before := p.empty(s1, floats(8))
	p.wait(s1, s3)
	p.kernel(s1, sink1, sink1, sink3)
	after := p.empty(s1, floats(8))
	g.end()
	p.reused("before the last join", data, before, false)
	p.reused("after the last join", data, after, true)
}

// Upstream, later than 2.11: memory freed in one capture is used again in the next
// one of the same pool. In 2.11 the end of a capture does not yet free it: that
// takes a request outside of any capture in between.
func TestMemPool_GraphCaptureReclaimSharedPool(t *testing.T) {
	p := newProgram(t, setup{settings: reuse})
	s, side := p.newStream(), p.newStream()
	const bytes = 8 * spec.MiB
	g1 := p.beginCapture(s, p.newPoolID())
	data := p.empty(s, bytes)
	p.wait(side, s)
	p.fill(side, data, 1)
	p.recordStream(data, side)
	p.wait(s, side)
	p.free(data)
	g1.end()

	g2 := p.beginCapture(s, g1.pool)
	atOnce := p.full(s, bytes, 42)
	g2.end()
	p.empty(mainStream, 1)
	g3 := p.beginCapture(s, g1.pool)
	later := p.full(s, bytes, 42)
	g3.end()
	p.reused("in the next capture", data, atOnce, false)
	p.reused("after a request outside", data, later, true)
}

// Upstream, later than 2.11 as a test: a stream used a tensor of a graph's pool
// before a capture in which it is freed. The capture's end does not end that use;
// the stream itself has to run.
func TestMemPool_GraphCapturePreCaptureStreamUse(t *testing.T) {
	p := newProgram(t, setup{settings: reuse})
	s, side := p.newStream(), p.newStream()
	pool := p.newPoolID()
	capture := func(body func()) {
		g := p.beginCapture(s, pool)
		body()
		g.end()
	}
	const bytes = 8 * spec.MiB
	var data, early, late tensor
	capture(func() { data = p.empty(s, bytes) })
	p.busy(side)
	p.fill(side, data, 1)
	p.recordStream(data, side)
	capture(func() { p.free(data) })
	p.empty(mainStream, 1) // looks at the events
	capture(func() { early = p.empty(s, bytes) })
	p.synchronize()
	p.empty(mainStream, 1)
	capture(func() { late = p.empty(s, bytes) })
	p.reused("while the stream is busy", data, early, false)
	p.reused("once the stream has run", data, late, true)
}
