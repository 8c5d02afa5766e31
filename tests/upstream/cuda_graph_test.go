package upstream

import (
	"errors"
	"testing"

	"gaugeblock/spec"
)

// Class TestCuda of test/test_cuda.py: graphs.

// Upstream: a stream says whether it is being captured.
func TestCuda_GraphIsCurrentStreamCapturing(t *testing.T) {
	p := newProgram(t, setup{})
	s := p.newStream()
	state := func(want spec.CaptureStatus) {
		t.Helper()
		status, err := p.gpu.CaptureStatus(p.device, s)
		p.must(err)
		if status.Status != want {
			t.Errorf("the state is %d, want %d", status.Status, want)
		}
	}
	state(spec.CaptureNone)
	g := p.beginCapture(s, ownPool)
	state(spec.CaptureActive)
	g.end()
	state(spec.CaptureNone)
}

// chain makes ten tensors, each of the one before, and frees all but the last
// (upstream: b = b + 1, ten times). The first is kept if it came from outside.
func chain(p *program, s spec.Stream, first tensor, keep bool) tensor {
	p.t.Helper()
	b := first
	for i := range 10 {
		next := p.clone(s, b)
		if i > 0 || !keep {
			p.free(b)
		}
		b = next
	}
	return b
}

// Upstream: a captured chain of sums gives the right result when it is replayed.
// Ours replays it with another input as well, to see that the work is done again.
func TestCuda_GraphCaptureSimple(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		a := p.full(s, floats(1000), 1)
		var b tensor
		g := p.capture(s, ownPool, func() { b = chain(p, s, a, true) })
		for _, value := range []byte{1, 2} {
			p.fill(s, a, value)
			g.replay(s)
			p.holds(b, value)
		}
	})
}

// Upstream: the same with the first tensor made in the capture, too.
func TestCuda_AcceleratorGraphSimple(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		var b tensor
		g := p.capture(s, ownPool, func() {
			b = chain(p, s, p.full(s, floats(1000), 1), false)
		})
		g.replay(s)
		p.holds(b, 1)
	})
}

// Upstream: each random generator that a graph knows has two small tensors, which
// are made once however many graphs there are. When the graphs are gone, the
// figures are what they were.
func TestCuda_MemoryStatsOfMultipleGeneratorsAndGraphs(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		active := func() [2]int64 { return [2]int64{p.stat("active.all.current"), p.stat("active_bytes.all.current")} }
		for _, c := range []struct{ graphs, generators int }{{1, 1}, {3, 2}, {10, 20}} {
			before := active()
			var states []tensor
			for range 2 * c.generators { // seed and offset
				states = append(states, p.empty(mainStream, 8))
			}
			var graphs []*graph
			for range c.graphs {
				s := p.newStream()
				g := p.beginCapture(s, ownPool)
				p.free(p.full(s, floats(1), 1))
				g.end()
				g.replay(mainStream)
				graphs = append(graphs, g)
			}
			n := int64(len(states))
			if want := [2]int64{before[0] + n, before[1] + n*minBlock}; active() != want {
				t.Errorf("%d graphs, %d generators: blocks and bytes active are %v, want %v", c.graphs, c.generators, active(), want)
			}
			for _, g := range graphs {
				g.reset()
			}
			p.free(states...)
			p.emptyCache()
			if active() != before {
				t.Errorf("blocks and bytes active are %v, and were %v", active(), before)
			}
		}
	})
}

// Upstream: a graph that was reset can capture something else, which works on a
// tensor that the first capture made.
func TestCuda_GraphCaptureResetRecapture(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		a := p.full(s, floats(1000), 1)
		var b tensor
		g := p.capture(s, ownPool, func() { b = chain(p, s, a, true) })
		g.replay(s)
		p.holds(b, 1)
		g.reset()

		g = p.beginCapture(s, ownPool)
		p.fill(s, b, 2)
		b = chain(p, s, b, false)
		g.end()
		g.replay(s)
		p.holds(b, 2)
	})
}

// Upstream: the default stream cannot be captured.
func TestCuda_GraphError(t *testing.T) {
	p := newProgram(t, setup{})
	if err := p.gpu.BeginCapture(p.device, mainStream, spec.CaptureGlobal); err == nil {
		t.Error("the default stream was captured")
	}
}

// Upstream: a request during a capture that is too large is out of memory like any
// other. Nothing was given back to make room, and the capture is not spoiled.
func TestCuda_GraphCaptureOom(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		cached := p.empty(mainStream, 100*spec.MiB)
		g := p.beginCapture(s, ownPool)
		p.free(cached)
		p.outOfMemory(s, floats(1<<40))
		g.end()
		if retries := p.stat("num_alloc_retries"); retries != 0 {
			t.Errorf("%d retries during a capture", retries)
		}
		if again := p.empty(mainStream, cached.Bytes); again.Ptr != cached.Ptr {
			t.Error("cached memory was given back during a capture")
		}
	})
}

// Upstream: making a graph of a matrix product a hundred times, one after the
// other, does not take more and more memory for the workspaces of cuBLAS.
func TestCuda_RepeatGraphCaptureCublasWorkspaceMemory(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		s := p.newStream()
		a, b := p.empty(mainStream, floats(1024*512)), p.empty(mainStream, floats(512*64))
		free := func() uint64 {
			free, _, err := p.gpu.MemInfo(p.device)
			p.must(err)
			return free
		}
		before, used := free(), uint64(0)
		var last *graph
		for i := range 100 {
			if last != nil {
				last.reset()
			}
			var product tensor
			last = p.capture(s, ownPool, func() {
				workspace := p.empty(s, 32*spec.MiB)
				product = p.empty(s, floats(1024*64))
				p.kernel(s, product, a, b, workspace)
				p.free(workspace)
			})
			last.replay(mainStream)
			p.free(product)
			if i == 0 {
				used = before - free()
			}
		}
		if now := before - free(); now != used {
			t.Errorf("%d bytes more are in use, after one capture it was %d", now, used)
		}
	})
}

// Upstream: an event of a stream that is busy must not be asked about while another
// stream is being captured, which would spoil the capture; so memory that waits for
// one goes on waiting. Memory of the capture that another of its streams used can
// be had again afterwards.
func TestCuda_GraphRecordStream(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		problem, a := p.full(mainStream, floats(3), 0), p.full(mainStream, floats(3), 0)
		s0, s1, s2 := p.newStream(), p.newStream(), p.newStream()
		p.recordStream(problem, s0)
		p.busy(s0)
		p.fill(s0, problem, 1)
		p.free(problem)

		g := p.beginCapture(s1, ownPool)
		b := p.clone(s1, a)
		p.wait(s2, s1)
		p.fill(s2, b, 1)
		p.recordStream(b, s2)
		p.free(b)
		p.wait(s1, s2)
		g.end()
		states := map[spec.BlockState]int{}
		for _, b := range blocks(p.snapshot().Segments) {
			states[b.State]++
		}
		if states[spec.ActivePendingFree] != 2 {
			t.Errorf("%d blocks wait to be freed, want the two that other streams used", states[spec.ActivePendingFree])
		}

		p.synchronize()
		// again, which is no matter: the use in the capture is over with it
		p.busy(s2)
		p.empty(mainStream, floats(3)) // looks at the events
		for _, b := range blocks(p.snapshot().Segments) {
			if b.State == spec.ActivePendingFree {
				t.Errorf("the block at %v still waits", b.Address)
			}
		}
	})
}

// Upstream: memory that another thread asks for on another stream while a stream is
// being captured does not spoil the capture, if the capture's mode says so.
func TestCuda_CudaGraphErrorOptions(t *testing.T) {
	for _, mode := range []spec.CaptureMode{spec.CaptureThreadLocal, spec.CaptureRelaxed} {
		t.Run(mode.String(), func(t *testing.T) {
			p := newProgram(t, setup{})
			s := p.newStream()
			g := p.beginCaptureIn(mode, s, ownPool)
			out := p.full(s, floats(2000), 3)
			other := p.thread(1)
			other.free(other.empty(other.newStream(), 1024))
			g.end()
			g.replay(s)
			p.holds(out, 3)
		})
	}
}

// Upstream: memory for a stream that has joined a capture comes from the graph's
// pool, as that for the stream that began it: one segment for each, of one pool.
func TestCuda_CudaGraphAllocatorPropagatesStream(t *testing.T) {
	plainAndExpandable(t, func(t *testing.T, p *program) {
		const bytes = 4 * 10240000
		x, y := p.empty(mainStream, bytes), p.empty(mainStream, bytes)
		s0, s1 := p.newStream(), p.newStream()
		p.wait(s0, mainStream)
		g := p.beginCapture(s0, ownPool)
		z := p.empty(s0, bytes)
		p.kernel(s0, z, x, y)
		p.wait(s1, s0)
		sum := p.empty(s1, bytes)
		p.kernel(s1, sum, z, y)
		p.wait(s0, s1)
		g.end()
		pools := map[spec.PoolID]int{}
		for _, segment := range p.snapshot().Segments {
			pools[segment.Pool]++
		}
		delete(pools, spec.DefaultPool)
		if len(pools) != 1 || pools[g.pool] != 2 {
			t.Errorf("segments by pool: %v, want two of pool %v", pools, g.pool)
		}
	})
}

// Upstream: reading a result waits for the stream, which is an error while the
// stream is being captured.
func TestCuda_CudaGraphTensorItemNotAllowed(t *testing.T) {
	p := newProgram(t, setup{})
	s := p.newStream()
	x := p.full(s, floats(500), 1)
	g := p.beginCapture(s, ownPool)
	var refused *spec.DriverError
	if _, err := p.gpu.ReadBack(p.device, s, x.Range); !errors.As(err, &refused) {
		t.Errorf("reading during a capture: %v", err)
	}
	if _, err := p.gpu.EndCapture(p.device, s); err == nil {
		t.Error("the capture is not spoiled")
	}
	g.leavePool()
}
