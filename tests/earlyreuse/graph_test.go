package earlyreuse_test

import (
	"errors"
	"strings"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

var graphPool = spec.PoolID{Capture: 1}

// capture captures a piece of a program on stream s, in the graph pool.
func (p *program) capture(piece func()) spec.GraphExec {
	p.Helper()
	pools := p.allocator.(spec.PrivatePools)
	p.must(p.gpu.BeginCapture(0, p.s, spec.CaptureRelaxed))
	status, err := p.gpu.CaptureStatus(0, p.s)
	p.must(err)
	p.must(pools.BeginAllocateToPool(0, graphPool, spec.ForCapture(p.gpu, status.ID)))
	piece()
	p.must(pools.EndAllocateToPool(0, graphPool))
	graph, err := p.gpu.EndCapture(0, p.s)
	p.must(err)
	exec, err := p.gpu.Instantiate(graph)
	p.must(err)
	return exec
}

// layer is a piece of a program whose intermediate memory is freed, as most is, and
// whose side stream is joined back.
func (p *program) layer() {
	p.Helper()
	a := p.malloc(p.s)
	p.write(p.s, "a", a)
	p.wait(p.t, p.s)
	b := p.malloc(p.t)
	p.read(p.t, "b", a)
	p.write(p.t, "b", b)
	p.must(p.allocator.RecordStream(a.Ptr, 0, p.t))
	p.free(a)
	c := p.malloc(p.s)
	p.write(p.s, "c", c)
	p.wait(p.s, p.t)
	p.free(b)
	p.free(c)
}

func (p *program) launch(x spec.GraphExec, s spec.Stream) {
	p.Helper()
	p.must(p.gpu.LaunchGraph(x, 0, s))
}

// TestGraphs: two graphs in one pool, launched again and again while the program goes
// on allocating and giving back.
func TestGraphs(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		x, y := p.capture(p.layer), p.capture(p.layer)
		for range 3 {
			p.launch(x, p.s)
			p.launch(y, p.s)
			useOnTwo(p, true)
			p.must(p.allocator.EmptyCache())
		}
		p.want()
	})
}

// TestGraphsOnTwoStreams: the pool's memory is shared, so the graphs must not run at
// the same time.
func TestGraphsOnTwoStreams(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		x, y := p.capture(p.layer), p.capture(p.layer)
		p.launch(x, p.s)
		p.launch(y, p.t)
		p.want("unordered", "of a graph")
	})
}

// TestReuseInCapture: within a capture memory is reused when the graph shows that it
// may be, and the device agrees.
func TestReuseInCapture(t *testing.T) {
	p := newProgram(t, nil, "graph_capture_record_stream_reuse:True", nil)
	reused := false
	x := p.capture(func() {
		a := p.malloc(p.s)
		p.write(p.s, "a", a)
		p.wait(p.t, p.s)
		p.read(p.t, "b", a)
		p.must(p.allocator.RecordStream(a.Ptr, 0, p.t))
		p.free(a)
		before := p.malloc(p.s)
		p.write(p.s, "c", before)
		p.wait(p.s, p.t)
		p.write(p.s, "d", before)
		after := p.malloc(p.s)
		p.write(p.s, "e", after)
		reused = before.Ptr != a.Ptr && after.Ptr == a.Ptr
	})
	if !reused {
		t.Error("memory was not reused just when it might be")
	}
	p.launch(x, p.s)
	p.want()
}

// hasty gives a pool up when the capture is over.
type hasty struct{ *alloc.Allocator }

func (h hasty) EndAllocateToPool(dev spec.Device, id spec.PoolID) error {
	return errors.Join(h.Allocator.EndAllocateToPool(dev, id), h.ReleasePool(dev, id))
}

// TestPoolReleasedUnderGraph: the memory is back with the driver when the graph is
// launched.
func TestPoolReleasedUnderGraph(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, func(a *alloc.Allocator) spec.Allocator { return hasty{a} })
		x := p.capture(p.layer)
		p.launch(x, p.s)
		p.must(p.allocator.EmptyCache())
		p.want()
		p.launch(x, p.s)
		p.want("outlived", "its memory went back to the driver")
	})
}

// communal has no private pools: what a graph used is anybody's when it is freed.
type communal struct{ *alloc.Allocator }

func (c communal) BeginAllocateToPool(spec.Device, spec.PoolID, spec.RequestFilter) error { return nil }
func (c communal) EndAllocateToPool(spec.Device, spec.PoolID) error                       { return nil }

// TestPoolSharedUnderGraph: the memory is somebody else's when the graph is launched.
func TestPoolSharedUnderGraph(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, func(a *alloc.Allocator) spec.Allocator { return communal{a} })
		x := p.capture(func() {
			a := p.malloc(p.s)
			p.write(p.s, "a", a)
			p.free(a)
		})
		p.launch(x, p.s)
		p.want()
		p.write(p.s, "b", p.malloc(p.s))
		p.launch(x, p.s)
		p.want("outlived", "its memory was given to lifetime 2")
	})
}

// TestCheckpoint: a pool is set back to what a capture left, so that another graph can
// be captured behind the first. The first one's output is allocated again, and is
// its memory.
func TestCheckpoint(t *testing.T) {
	everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
		p := newProgram(t, schedule, settings, nil)
		checkpointer := p.allocator.(spec.Checkpointer)
		var output spec.Range
		x := p.capture(func() {
			p.layer()
			output = p.malloc(p.s)
			p.write(p.s, "output", output)
		})
		state, err := checkpointer.Checkpoint(0, graphPool)
		p.must(err)
		y := p.capture(p.layer)
		p.free(output)
		p.must(p.allocator.EmptyCache()) // which does the deferred frees of the capture
		p.launch(x, p.s)

		delta, err := checkpointer.Restore(0, state)
		p.must(err)
		if len(delta.Created) != 1 || delta.Created[0] != output.Ptr {
			t.Fatalf("restored: %v, want the output at %v", delta, output.Ptr)
		}
		p.read(p.s, "use", output)
		p.launch(x, p.s)
		p.launch(y, p.s)
		p.read(p.s, "use", output)
		p.want()

		// Allocated before and after: the same lifetime.
		p.wait(p.t, p.s)
		p.read(p.t, "own race", output)
		_, err = checkpointer.Restore(0, state)
		p.must(err)
		p.write(p.s, "own race", output)
		p.want()

		p.free(output)
		p.read(p.s, "use", output)
		p.want("not allocated", `kernel "use"`)
	})
}

// TestForgottenUses: a stream that is recorded while requests are routed to a pool, though
// it is not captured, counts as one that uses the memory in a graph. If the memory is
// freed meanwhile nobody waits for the stream. That is upstream's, and the reference
// keeps it (deviation kept/use-not-captured); the device notices. The
// programs of conformance avoid this case and the next, and nothing else.
func TestForgottenUses(t *testing.T) {
	for _, routed := range []bool{false, true} {
		everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
			p := newProgram(t, schedule, settings, nil)
			pools := p.allocator.(spec.PrivatePools)
			if routed {
				p.must(pools.BeginAllocateToPool(0, graphPool, spec.ForThread(1))) // nobody's
			}
			r := p.malloc(p.s)
			p.write(p.s, "produce", r)
			p.wait(p.t, p.s)
			p.read(p.t, "consume", r)
			p.must(p.allocator.RecordStream(r.Ptr, 0, p.t))
			p.free(r)
			if routed {
				p.must(pools.EndAllocateToPool(0, graphPool))
			}
			p.write(p.s, "overwrite", p.malloc(p.s))
			if routed {
				p.want("unordered", `kernel "consume"`, `kernel "overwrite"`)
			} else {
				p.want()
			}
		})
	}
}

// TestForgottenUsesInCapture: nor does anybody wait for a stream that was recorded
// before a capture which it then joins, if memory is reused in captures. Where the
// stream stands in the graph says nothing of what it did before.
func TestForgottenUsesInCapture(t *testing.T) {
	for _, reuse := range []string{"", ",graph_capture_record_stream_reuse:True"} {
		everyWay(t, func(t *testing.T, schedule fakegpu.Schedule, settings string) {
			p := newProgram(t, schedule, strings.TrimPrefix(settings+reuse, ","), nil)
			pools := p.allocator.(spec.PrivatePools)
			r, input := p.malloc(p.s), p.malloc(p.s)
			p.wait(p.t, p.s)
			p.read(p.t, "consume", r)
			p.must(p.allocator.RecordStream(r.Ptr, 0, p.t))

			p.must(pools.BeginAllocateToPool(0, graphPool, spec.ForThread(1))) // nobody's
			p.must(p.gpu.BeginCapture(0, p.s, spec.CaptureRelaxed))
			p.read(p.s, "node", input)
			p.wait(p.t, p.s)
			p.free(r)
			p.write(p.s, "overwrite", p.malloc(p.s))
			p.wait(p.s, p.t)
			graph, err := p.gpu.EndCapture(0, p.s)
			p.must(err)
			x, err := p.gpu.Instantiate(graph)
			p.must(err)
			p.must(pools.EndAllocateToPool(0, graphPool))
			p.launch(x, p.s)
			if reuse == "" {
				p.want()
			} else {
				p.want("unordered", `kernel "consume"`, `kernel "overwrite"`)
			}
		})
	}
}
