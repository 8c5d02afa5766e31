package fakegpu

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// Stream capture. A stream that is being captured runs nothing: what is given to
// it becomes a node of a graph. A capture begins on one stream, its origin; others
// join it by waiting for an event that was recorded in it, and must be joined back
// before the origin can end it.
//
// Each stream in a capture has terminals: the nodes that its next node will depend
// on. Work makes one node and leaves it as the only terminal. Waiting for an event
// makes no node: it adds the terminals that the event was recorded with, those that
// are not there yet, behind the stream's own, in their order. Nothing is left out
// for being behind another terminal. All this is as the real driver was seen to do
// it.
//
// A call that is illegal while something is being captured fails, and the capture is
// invalidated as well. From then on it
// takes no work and can only be ended, which yields no graph.

// capture is one that is under way. The origin is the first of the members.
type capture struct {
	id      spec.CaptureID
	mode    spec.CaptureMode
	by      spec.Thread // that began it
	graph   *graph
	members []*stream
	order   *happensbefore.Order // of the nodes: a lane for each member
	spoiled string               // by which call it was invalidated; empty if it is good
	over    bool                 // ended, in whatever way
}

// spoil invalidates the capture and gives the error of the call that did it.
func (k *capture) spoil(c call, err code, format string, args ...any) error {
	if k.spoiled == "" {
		k.spoiled = c.String()
	}
	return err.in(c, "%s; the capture is invalidated", fmt.Sprintf(format, args...))
}

// usable refuses a call that would add to an invalidated capture.
func (k *capture) usable(c call) error {
	if k.spoiled == "" {
		return nil
	}
	return cudaErrorStreamCaptureInvalidated.in(c, "the capture was invalidated by %s", k.spoiled)
}

// forbid refuses a call that may harm a capture, and invalidates the captures that
// forbid it.
func (g *GPU) forbid(c call, err code) error {
	var refusal error
	for _, k := range g.captures {
		if g.forbidden(k) {
			refusal = k.spoil(c, err, "a %v capture is under way", k.mode)
		}
	}
	return refusal
}

// Caller is what decides which calls a host thread may make while something is being
// captured: the thread, and its mode (cudaThreadExchangeStreamCaptureMode).
type Caller struct {
	Thread spec.Thread
	Mode   spec.CaptureMode
}

// SetCallers gives the function that says who makes a call. It is asked on the
// goroutine that makes it. Without one all calls are made by one thread, whose mode is
// global.
func (g *GPU) SetCallers(caller func() Caller) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	g.callers = caller
}

func (g *GPU) caller() Caller {
	if g.callers == nil {
		return Caller{Mode: spec.CaptureGlobal}
	}
	return g.callers()
}

// forbidden reports whether a capture forbids its caller what may harm it, as an H200
// was seen to do. A relaxed capture forbids nothing, and a thread whose mode is relaxed
// may do everything. A thread's own captures forbid it; those of other threads do if
// both they and its mode are global.
func (g *GPU) forbidden(k *capture) bool {
	c := g.caller()
	if k.mode == spec.CaptureRelaxed || c.Mode == spec.CaptureRelaxed {
		return false
	}
	return k.by == c.Thread || k.mode == spec.CaptureGlobal && c.Mode == spec.CaptureGlobal
}

// mayWait refuses to wait for a stream that is being captured, or for any while a
// capture forbids it.
func (g *GPU) mayWait(c call, s *stream) error {
	if s.capture != nil {
		return s.capture.spoil(c, cudaErrorStreamCaptureUnsupported, "%v is being captured", s)
	}
	return g.forbid(c, cudaErrorStreamCaptureUnsupported)
}

// FreeForbidden implements spec.Driver.
func (g *GPU) FreeForbidden() bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return slices.ContainsFunc(g.captures, g.forbidden)
}

// CaptureStatus implements spec.Driver.
func (g *GPU) CaptureStatus(dev spec.Device, handle spec.Stream) (spec.CaptureInfo, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callCaptureStatus); err != nil {
		return spec.CaptureInfo{}, err
	}
	s, err := g.stream(callCaptureStatus, dev, handle)
	if err != nil {
		return spec.CaptureInfo{}, err
	}
	switch {
	case s.capture == nil:
		return spec.CaptureInfo{}, nil
	case s.capture.spoiled != "":
		return spec.CaptureInfo{Status: spec.CaptureInvalidated}, nil
	}
	return spec.CaptureInfo{
		Status:    spec.CaptureActive,
		ID:        s.capture.id,
		Graph:     s.capture.graph.handle,
		Terminals: slices.Clone(s.terminals),
	}, nil
}

// BeginCapture implements spec.Executor. The default stream cannot be captured.
func (g *GPU) BeginCapture(dev spec.Device, handle spec.Stream, mode spec.CaptureMode) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callBeginCapture); err != nil {
		return err
	}
	s, err := g.stream(callBeginCapture, dev, handle)
	switch {
	case err != nil:
		return err
	case handle == 0:
		return cudaErrorStreamCaptureUnsupported.in(callBeginCapture, "the default stream cannot be captured")
	case s.capture != nil:
		return cudaErrorIllegalState.in(callBeginCapture, "%v is being captured already", s)
	case mode < spec.CaptureGlobal || mode > spec.CaptureRelaxed:
		return cudaErrorInvalidValue.in(callBeginCapture, "there is no capture mode %d", int(mode))
	}
	g.captured++
	k := &capture{
		id:    spec.CaptureID(g.captured),
		mode:  mode,
		by:    g.caller().Thread,
		graph: &graph{handle: spec.Graph(g.newHandle())},
		order: happensbefore.New(),
	}
	g.captures = append(g.captures, k)
	k.join(s)
	return nil
}

// join makes a stream a member, without terminals.
func (k *capture) join(s *stream) {
	s.capture, s.terminals = k, nil
	s.chain = k.order.NewGraphLane(spec.DeviceStream{Device: s.device, Stream: s.handle})
	k.members = append(k.members, s)
}

// waitCaptured makes a stream wait for an event that was recorded in a capture.
func (g *GPU) waitCaptured(s *stream, e *event) error {
	k := e.capture
	switch {
	case k.over || k.spoiled != "":
		return cudaErrorInvalidValue.in(callWaitEvent, "the event was recorded in a capture that yields nothing more")
	case s.capture == nil && s.handle == 0:
		return k.spoil(callWaitEvent, cudaErrorStreamCaptureImplicit, "%v cannot join a capture", s)
	case s.capture != nil && s.capture != k:
		_ = s.capture.spoil(callWaitEvent, cudaErrorStreamCaptureMerge, "")
		return k.spoil(callWaitEvent, cudaErrorStreamCaptureMerge, "%v and the event belong to two captures", s)
	case s.capture == nil:
		k.join(s)
	}
	k.order.Wait(s.chain, e.before)
	for _, n := range e.nodes {
		if !slices.Contains(s.terminals, n) {
			s.terminals = append(s.terminals, n)
		}
	}
	return nil
}

// addNode makes work given to a captured stream a node.
func (g *GPU) addNode(c call, s *stream, w work) error {
	if err := s.capture.usable(c); err != nil {
		return err
	}
	n := s.capture.newNode(g, s, s.chain, s.terminals, *w.clone())
	s.terminals = []spec.GraphNode{n.handle}
	return nil
}

// newNode adds a node behind others to the graph, in a lane of its order. The stream is whose work it counts as.
func (k *capture) newNode(g *GPU, s *stream, lane *happensbefore.Lane, after []spec.GraphNode, w work) *node {
	m := k.order.Submit(lane)
	n := &node{handle: spec.GraphNode(g.newHandle()), after: after, work: w, epoch: m.Epoch, behind: m.Clock}
	if g.detector != nil {
		g.detector.captured(g, s, n)
	}
	k.graph.nodes = append(k.graph.nodes, n)
	g.nodes[n.handle] = n
	return n
}

// EndCapture implements spec.Executor. On a stream that only joined it fails and
// invalidates the capture; on the origin the capture is over, whether it fails or
// not.
func (g *GPU) EndCapture(dev spec.Device, handle spec.Stream) (spec.Graph, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callEndCapture); err != nil {
		return 0, err
	}
	s, err := g.stream(callEndCapture, dev, handle)
	switch {
	case err != nil:
		return 0, err
	case s.capture == nil:
		return 0, cudaErrorIllegalState.in(callEndCapture, "%v is not being captured", s)
	case s.capture.members[0] != s:
		return 0, s.capture.spoil(callEndCapture, cudaErrorStreamCaptureUnmatched, "the capture began on %v, not on %v", s.capture.members[0], s)
	}
	k := s.capture
	err = k.usable(callEndCapture)
	if err == nil {
		err = k.joined()
	}
	g.finish(k)
	if err != nil {
		g.discard(k.graph)
		return 0, err
	}
	g.graphs[k.graph.handle] = k.graph
	return k.graph.handle, nil
}

// joined reports a member that has work which the origin does not come after.
func (k *capture) joined() error {
	for _, s := range k.members {
		if !k.members[0].chain.Clock().CoversAll(s.chain.Clock()) {
			return cudaErrorStreamCaptureUnjoined.in(callEndCapture, "%v has work that %v does not come after", s, k.members[0])
		}
	}
	return nil
}

// finish ends a capture: its streams run again.
func (g *GPU) finish(k *capture) {
	for _, s := range k.members {
		s.capture, s.terminals = nil, nil
	}
	k.over = true
	g.captures = slices.DeleteFunc(g.captures, func(o *capture) bool { return o == k })
}

// leaveCapture takes a stream that is being destroyed out of its capture.
func (g *GPU) leaveCapture(s *stream) {
	k := s.capture
	if k.members[0] == s {
		g.finish(k)
		g.discard(k.graph)
		return
	}
	_ = k.spoil(callDestroyStream, cudaErrorStreamCaptureUnsupported, "")
	k.members = slices.DeleteFunc(k.members, func(m *stream) bool { return m == s })
	s.capture, s.terminals = nil, nil
}
