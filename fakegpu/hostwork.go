package fakegpu

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Work with the host in it: copies from and to memory of the host, and functions of the
// host that a stream calls in its order. Tests have no use for it; programs that were
// written for CUDA have (fakegpu/cuda).

// CopyIn writes bytes of the host to a range of the same size (cudaMemcpyAsync from host
// memory). What is written is what data holds during the call, as of memory that is not
// pinned.
func (g *GPU) CopyIn(dev spec.Device, handle spec.Stream, to spec.Ptr, data []byte) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	r := spec.Range{Ptr: to, Bytes: uint64(len(data))}
	return g.giveHostWork(callCopy, dev, handle, r, work{
		kind: workCopyIn, device: dev, writes: []spec.Range{r}, writer: dev, data: data,
	})
}

// CopyOut reads a range in the stream's order (cudaMemcpyAsync to host memory) and hands
// what it holds then to a function, which must not call the GPU.
func (g *GPU) CopyOut(dev spec.Device, handle spec.Stream, r spec.Range, to func([]byte)) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.giveHostWork(callCopy, dev, handle, r, work{
		kind: workCopyOut, device: dev, reads: []spec.Range{r}, reader: dev, receive: to,
	})
}

func (g *GPU) giveHostWork(c call, dev spec.Device, handle spec.Stream, r spec.Range, w work) error {
	if err := g.enter(c); err != nil {
		return err
	}
	s, err := g.stream(c, dev, handle)
	if err != nil {
		return err
	}
	if err := g.mayTouch(c, dev, r); err != nil || r.Bytes == 0 {
		return err
	}
	return g.give(c, s, w)
}

// HostFunction calls a function of the host in the stream's order (cudaLaunchHostFunc). The host may
// see what the function does without a call of the driver. So no schedule puts it off, and when it
// has been called, what was before it in its stream comes before whatever the host does next. The
// function must not call the GPU.
func (g *GPU) HostFunction(dev spec.Device, handle spec.Stream, f func()) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callLaunch); err != nil {
		return err
	}
	s, err := g.stream(callLaunch, dev, handle)
	if err != nil {
		return err
	}
	err = g.give(callLaunch, s, work{
		kind: workHost, device: dev, receive: func([]byte) { f() }, before: &happensbefore.Clock{},
	})
	g.callFunctions()
	return err
}

// callFunctions does what comes before the functions of the host that nothing but the schedule holds,
// and calls them.
func (g *GPU) callFunctions() {
	if g.schedule == nil || g.machine.queued.functions == 0 {
		return
	}
	for _, s := range slices.Clone(g.inOrder) {
		for i := len(s.queue) - 1; i >= 0; i-- {
			if w := s.queue[i].work; w != nil && w.kind == workHost {
				g.force(mark{s, s.done + uint64(i) + 1})
				break
			}
		}
	}
}

// LaunchOnHost is Launch of a kernel that a function of the host computes, when it is the kernel's
// turn. With Config.HostMemory the function finds the memory at its addresses, in the machine's
// first process. It is not called if the kernel names memory that it has no right to touch. The
// function must not call the GPU.
func (g *GPU) LaunchOnHost(l spec.Launch, compute func()) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.launch(l, func([]byte) { compute() })
}

// runHostWork does such work. What it reads and writes has been resolved.
func (g *GPU) runHostWork(w *work, sources, targets []part) {
	switch w.kind {
	case workCopyIn:
		if len(targets) > 0 {
			writeBytes(targets, w.data)
		}
	case workCopyOut:
		if inHost(sources) {
			w.receive(readHost(sources))
		} else if len(sources) > 0 {
			w.receive(read(sources, w.reads[0].Bytes))
		}
	case workHost:
		w.receive(nil)
		if g.detector != nil {
			g.detector.order.See(*w.before)
		}
	}
}

// writeBytes makes the parts, one behind the other, hold the bytes. Neighbouring words
// that are equal become one run.
func writeBytes(parts []part, data []byte) {
	for _, p := range parts {
		own := data[:p.to-p.from]
		data = data[p.to-p.from:]
		if p.backing.host != nil {
			copy(p.bytesOf(), own)
			continue
		}
		begin, word := p.from, uint64(0)
		for at := p.from; at < p.to; {
			end := min(at&^7+8, p.to)
			next := wordAt(own[at-p.from:end-p.from], at)
			switch {
			case at == p.from:
				word = next
			case next != word:
				p.backing.contents.set(begin, at, word)
				begin, word = at, next
			}
			at = end
		}
		p.backing.contents.set(begin, p.to, word)
	}
}

// wordAt is a word that has the bytes where they stand if the first is at an offset.
func wordAt(data []byte, at uint64) (word uint64) {
	for i, b := range data {
		word |= uint64(b) << (8 * ((at + uint64(i)) & 7))
	}
	return word
}
