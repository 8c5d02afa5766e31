package fakegpu

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Work: what a stream runs. Every piece of work says which ranges it reads and
// writes, and through which device. It has no effect until it is done, in the
// stream's order; then it changes what memory holds.

type workKind uint8

const (
	workKernel workKind = iota
	workFill
	workCopy
	workReadBack
	workGraph
	workCopyIn
	workCopyOut
	workHost
	workAlloc // of memory of a graph
	workFree
	workEmpty      // a node that does nothing
	workHostAccess // of a host thread itself: only in hazards
)

// What copies are called, also if they are launched by LaunchSized: for a copy the driver loads no code.
const (
	CopyOver = "copy" // within a device, or between two
	CopyIn   = "copy from the host"
	CopyOut  = "copy to the host"
)

var workNames = [...]string{"kernel", "fill", CopyOver, "read back", "graph", CopyIn, CopyOut, "host function", "allocation", "free", "empty node", "host access"}

// work is one piece.
type work struct {
	id     uint64 // numbers work by when it was given, over the whole machine
	kind   workKind
	name   string // of a kernel
	device spec.Device
	stream spec.Stream

	reads, writes []spec.Range
	// through which memory is reached; they differ in a copy between peers
	reader, writer spec.Device
	value          byte       // of a fill
	ends           bool       // of memory: see EndLifetimeOn
	exec           *graphExec // of a graph
	moves          uint64     // bytes, beside those that are named, for a schedule by time
	operations     uint64     // the same
	code           uint64     // of a kernel that has it with others
	data           []byte     // of a copy from the host
	// of a copy to the host, a function of it, or a kernel that it computes
	receive func([]byte)
	before  *happensbefore.Clock // of a function of the host: what it comes after, for the detector
}

// give hands work to a stream: into the graph under construction, into the queue,
// or, if nothing holds the stream, done at once. The ranges are copied if they
// are kept.
func (g *GPU) give(c call, s *stream, w work) error {
	if s.capture != nil {
		return g.addNode(c, s, w)
	}
	if err := g.barred(c, s); err != nil {
		return err
	}
	g.gatherBlocking(s)
	w.id, w.stream = g.machine.works+1, s.handle
	g.machine.works += w.numbers()
	if g.detector != nil {
		g.detector.given(g, s, &w)
		if w.before != nil {
			g.detector.order.Record(w.before, g.detector.lane(s))
		}
	}
	if s.idle() && g.schedule == nil {
		s.given++
		s.done++
		g.run(&w)
	} else {
		i := item{work: w.clone()}
		if b, is := g.schedule.(*byTime); is {
			i.given = b.given(g, &w)
		}
		s.push(i)
	}
	g.releaseBlocking(s)
	return nil
}

// numbers is how many numbers work takes: one, and one for each node of a graph.
func (w *work) numbers() uint64 {
	if w.kind == workGraph {
		return 1 + uint64(len(w.exec.nodes))
	}
	return 1
}

// clone is a copy that shares nothing with the caller.
func (w work) clone() *work {
	w.reads, w.writes = slices.Clone(w.reads), slices.Clone(w.writes)
	w.data = slices.Clone(w.data)
	return &w
}

// run does the work.
func (g *GPU) run(w *work) {
	g.machine.clock += w.duration()
	if w.kind == workGraph {
		g.runGraph(w)
		return
	}
	if g.noEffects && w.receive == nil {
		return
	}
	var room [4]part
	sources, targets := room[:0:2], room[2:2]
	violations := len(g.violations)
	for _, r := range w.reads {
		sources = g.touch(w, r, w.reader, false, sources)
	}
	for _, r := range w.writes {
		targets = g.touch(w, r, w.writer, true, targets)
	}
	if w.kind == workKernel && w.receive != nil {
		if len(g.violations) == violations {
			w.receive(nil)
		}
		return
	}
	switch w.kind {
	case workKernel: // writes what it may, whatever else it got wrong
		tag := tagOf(w.id)
		if g.schedule != nil {
			tag = tagOf(w.id ^ digestOf(sources))
		}
		write(targets, tag)
	case workFill:
		write(targets, wordOf(w.value))
	case workCopy:
		copyParts(targets, sources)
	default:
		g.runHostWork(w, sources, targets)
	}
}

// touch adds the memory that work touches to the parts, or writes it down if the
// work has no right to.
func (g *GPU) touch(w *work, r spec.Range, by spec.Device, write bool, parts []part) []part {
	if r.Bytes == 0 {
		return parts
	}
	found, reason := g.resolve(by, r, parts)
	if reason == "" {
		return found
	}
	g.violate(Violation{
		Work: w.id, Kind: workNames[w.kind], Name: w.name, Device: w.device, Stream: w.stream,
		Write: write, Range: r, Reason: reason,
	})
	return parts
}

// mayTouch refuses a range that a fill, a copy or a reading names and may not
// touch, as the real driver does; it knows nothing of what a kernel touches.
func (g *GPU) mayTouch(c call, dev spec.Device, r spec.Range) error {
	if r.Bytes == 0 {
		return nil
	}
	var room [4]part
	if _, reason := g.resolve(dev, r, room[:0]); reason != "" {
		return cudaErrorInvalidValue.in(c, "%d bytes at %v from device %d: %s", r.Bytes, r.Ptr, dev, reason)
	}
	return nil
}

// Launch implements spec.Executor. That a range is not to be touched shows when
// the kernel runs, and is no error of the call: see Violations.
func (g *GPU) Launch(l spec.Launch) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return g.launch(l, nil)
}

// launch gives a kernel to its stream. compute, if given, is what it does.
func (g *GPU) launch(l spec.Launch, compute func([]byte)) error {
	if err := g.enter(callLaunch); err != nil {
		return err
	}
	s, err := g.stream(callLaunch, l.Device, l.Stream)
	if err != nil {
		return err
	}
	return g.giveKernel(s, l, compute)
}

// giveKernel does so if the stream is found.
func (g *GPU) giveKernel(s *stream, l spec.Launch, compute func([]byte)) error {
	return g.give(callLaunch, s, work{
		kind: workKernel, name: l.Name, device: s.device, receive: compute,
		reads: l.Reads, reader: s.device, writes: l.Writes, writer: s.device,
	})
}

// Fill implements spec.Executor. A fill of no bytes does nothing.
func (g *GPU) Fill(dev spec.Device, handle spec.Stream, r spec.Range, value byte) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callFill); err != nil {
		return err
	}
	s, err := g.stream(callFill, dev, handle)
	if err != nil {
		return err
	}
	if err := g.mayTouch(callFill, dev, r); err != nil || r.Bytes == 0 {
		return err
	}
	return g.give(callFill, s, work{
		kind: workFill, device: dev, writes: []spec.Range{r}, writer: dev, value: value,
	})
}

// Copy implements spec.Executor. A side that the copying device does not reach is reached through
// its own device, so no peer access is needed. A copy of no bytes does nothing. One between devices
// in a default stream orders the default streams of both: see copy_order.go.
func (g *GPU) Copy(c spec.Copy) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCopy); err != nil {
		return err
	}
	s, err := g.stream(callCopy, c.Device, c.Stream)
	if err != nil {
		return err
	}
	for _, dev := range []spec.Device{c.SrcDevice, c.DstDevice} {
		if _, err := g.view(callCopy, dev); err != nil {
			return err
		}
	}
	source := spec.Range{Ptr: c.Src, Bytes: c.Bytes}
	target := spec.Range{Ptr: c.Dst, Bytes: c.Bytes}
	between := c
	c.SrcDevice, c.DstDevice = g.reacher(c.Device, c.SrcDevice, source), g.reacher(c.Device, c.DstDevice, target)
	if err := g.mayTouch(callCopy, c.SrcDevice, source); err != nil {
		return err
	}
	if err := g.mayTouch(callCopy, c.DstDevice, target); err != nil || c.Bytes == 0 {
		return err
	}
	others := g.otherDefaults(s, between)
	if err := g.gatherDefaults(callCopy, s, others); err != nil {
		return err
	}
	err = g.give(callCopy, s, work{
		kind: workCopy, device: c.Device,
		reads: []spec.Range{source}, reader: c.SrcDevice, writes: []spec.Range{target}, writer: c.DstDevice,
	})
	if err == nil {
		g.releaseDefaults(s, others)
	}
	return err
}

// ReadBack implements spec.Executor. Memory that was never written reads as 0xa5,
// memory that a kernel wrote as eight bytes, repeated, that no other kernel
// writes.
func (g *GPU) ReadBack(dev spec.Device, handle spec.Stream, r spec.Range) ([]byte, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callReadBack); err != nil {
		return nil, err
	}
	s, err := g.stream(callReadBack, dev, handle)
	if err != nil {
		return nil, err
	}
	if err := g.mayTouch(callReadBack, dev, r); err != nil {
		return nil, err
	}
	if err := g.mayWait(callReadBack, s); err != nil {
		return nil, err
	}
	if err := g.barred(callReadBack, s); err != nil {
		return nil, err
	}
	g.gatherBlocking(s)
	if err := g.await(callReadBack, s.end(), "the stream"); err != nil || r.Bytes == 0 {
		return nil, err
	}
	if g.detector != nil {
		g.detector.given(g, s, &work{kind: workReadBack, device: dev, reads: []spec.Range{r}, reader: dev})
		g.detector.order.See(g.detector.lane(s).Clock())
	}
	g.releaseBlocking(s)
	parts, _ := g.resolve(dev, r, nil)
	return read(parts, r.Bytes), nil
}
