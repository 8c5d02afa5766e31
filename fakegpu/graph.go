package fakegpu

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// graph is what a capture yields: nodes in the order in which they were captured,
// each behind the nodes that it depends on.
type graph struct {
	handle spec.Graph
	nodes  []*node
	memory []*graphMemory
}

// node is work in a graph. It does not change.
//
// The nodes captured from one stream depend on each other in a row, so that the clock
// of the node in the order of its capture says all that it depends on, directly or not.
type node struct {
	handle spec.GraphNode
	after  []spec.GraphNode // what it depends on directly
	epoch  happensbefore.Epoch
	behind happensbefore.Clock // the node itself included
	work   work

	watched bool    // detection was on during the capture
	claims  []claim // what it touches, then
}

// comesAfter reports whether a node is another one, or depends on it.
func (n *node) comesAfter(other *node) bool {
	return n.behind.Covers(other.epoch)
}

// graphExec is a graph that can be launched. It has its own list of nodes, since
// it outlives its graph.
type graphExec struct {
	nodes  []*node
	memory []*graphMemory
	latest mark                // of its launches: the next one comes after it, in whatever stream
	before happensbefore.Clock // for the detector: what comes before that mark
}

// discard forgets a graph's nodes.
func (g *GPU) discard(gr *graph) {
	for _, n := range gr.nodes {
		delete(g.nodes, n.handle)
	}
	g.disown(gr.memory)
}

// NodeDependencies implements spec.Driver. It answers until the node's graph is
// destroyed.
func (g *GPU) NodeDependencies(handle spec.GraphNode) ([]spec.GraphNode, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callNodeDependencies); err != nil {
		return nil, err
	}
	n := g.nodes[handle]
	if n == nil {
		return nil, cudaErrorInvalidValue.in(callNodeDependencies, "there is no node %#x", uint64(handle))
	}
	return slices.Clone(n.after), nil
}

// AddEmptyNode adds a node that does nothing to the graph of a capture under way (cudaGraphAddEmptyNode). The streams
// of the capture do not depend on it before DependOn says so.
func (g *GPU) AddEmptyNode(handle spec.Graph, after []spec.GraphNode) (spec.GraphNode, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	at := slices.IndexFunc(g.captures, func(k *capture) bool { return k.graph.handle == handle })
	if at < 0 {
		return 0, cudaErrorNotSupported.in(callNodeDependencies, "graph %#x is of no capture under way", uint64(handle))
	}
	k := g.captures[at]
	if err := k.usable(callNodeDependencies); err != nil {
		return 0, err
	}
	lane := k.order.NewGraphLane(spec.DeviceStream{Device: k.members[0].device, Stream: k.members[0].handle})
	for _, h := range after {
		before := g.nodes[h]
		if before == nil {
			return 0, cudaErrorInvalidValue.in(callNodeDependencies, "there is no node %#x", uint64(h))
		}
		k.order.Wait(lane, before.behind)
	}
	n := k.newNode(g, k.members[0], lane, slices.Clone(after), work{kind: workEmpty, device: k.members[0].device})
	return n.handle, nil
}

// DependOn makes the next node of a stream that is being captured depend on some nodes, and on no others
// (cudaStreamUpdateCaptureDependencies). They must come behind all that the stream has captured.
func (g *GPU) DependOn(dev spec.Device, handle spec.Stream, nodes []spec.GraphNode) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	s, err := g.stream(callNodeDependencies, dev, handle)
	if err != nil {
		return err
	}
	if s.capture == nil {
		return cudaErrorIllegalState.in(callNodeDependencies, "%v is not being captured", s)
	}
	if err := s.capture.usable(callNodeDependencies); err != nil {
		return err
	}
	behind := func(before spec.GraphNode) bool {
		return slices.ContainsFunc(nodes, func(h spec.GraphNode) bool { return g.nodes[h] != nil && g.nodes[h].comesAfter(g.nodes[before]) })
	}
	for _, h := range nodes {
		if g.nodes[h] == nil {
			return cudaErrorInvalidValue.in(callNodeDependencies, "there is no node %#x", uint64(h))
		}
	}
	for _, h := range s.terminals {
		if !behind(h) {
			return cudaErrorNotSupported.in(callNodeDependencies, "%v would not come after node %#x any more", s, uint64(h))
		}
	}
	for _, h := range nodes {
		s.capture.order.Wait(s.chain, g.nodes[h].behind)
	}
	s.terminals = slices.Clone(nodes)
	return nil
}

// graph finds a graph.
func (g *GPU) graph(c call, handle spec.Graph) (*graph, error) {
	if gr := g.graphs[handle]; gr != nil {
		return gr, nil
	}
	return nil, cudaErrorInvalidValue.in(c, "there is no graph %#x", uint64(handle))
}

// exec finds an executable graph.
func (g *GPU) exec(c call, handle spec.GraphExec) (*graphExec, error) {
	if x := g.execs[handle]; x != nil {
		return x, nil
	}
	return nil, cudaErrorInvalidValue.in(c, "there is no executable graph %#x", uint64(handle))
}

// Instantiate implements spec.Executor. Under a capture that is not relaxed it is
// illegal.
func (g *GPU) Instantiate(handle spec.Graph) (spec.GraphExec, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callInstantiate); err != nil {
		return 0, err
	}
	if err := g.forbid(callInstantiate, cudaErrorStreamCaptureUnsupported); err != nil {
		return 0, err
	}
	gr, err := g.graph(callInstantiate, handle)
	if err != nil {
		return 0, err
	}
	exec := &graphExec{nodes: slices.Clone(gr.nodes)}
	if err := exec.own(callInstantiate, gr); err != nil {
		return 0, err
	}
	x := spec.GraphExec(g.newHandle())
	g.execs[x] = exec
	return x, nil
}

// LaunchGraph implements spec.Executor. A stream that is being captured cannot
// take a graph: the real driver refuses that in every mode. Launches of the same
// executable graph come one after the other, whatever their streams (documentation
// of cudaGraphLaunch).
func (g *GPU) LaunchGraph(handle spec.GraphExec, dev spec.Device, stream spec.Stream) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callLaunchGraph); err != nil {
		return err
	}
	s, err := g.stream(callLaunchGraph, dev, stream)
	if err != nil {
		return err
	}
	x, err := g.exec(callLaunchGraph, handle)
	if err != nil {
		return err
	}
	if s.capture != nil {
		return s.capture.spoil(callLaunchGraph, cudaErrorStreamCaptureUnsupported, "%v is being captured", s)
	}
	if err := x.allocate(callLaunchGraph); err != nil {
		return err
	}
	if !x.latest.complete() && x.latest.stream != s {
		s.push(item{wait: x.latest})
	}
	if err := g.give(callLaunchGraph, s, work{kind: workGraph, device: dev, exec: x}); err != nil {
		return err
	}
	x.latest = s.end()
	return nil
}

// runGraph does the work of all nodes, in an order that their dependencies allow.
// Each gets a new number at each launch, so that what it writes can be told from
// what it wrote at the launch before.
func (g *GPU) runGraph(w *work) {
	for _, i := range g.nodeOrder(w.exec.nodes) {
		part := w.exec.nodes[i].work
		part.id, part.stream = w.id+1+uint64(i), w.stream
		g.run(&part)
	}
}

// DestroyGraph implements spec.Executor. What was instantiated stays.
func (g *GPU) DestroyGraph(handle spec.Graph) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callDestroyGraph); err != nil {
		return err
	}
	gr, err := g.graph(callDestroyGraph, handle)
	if err != nil {
		return err
	}
	g.discard(gr)
	delete(g.graphs, handle)
	return nil
}

// DestroyGraphExec implements spec.Executor. Launches of it that are not complete
// go on. Under a capture that is not relaxed it is illegal.
func (g *GPU) DestroyGraphExec(handle spec.GraphExec) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callDestroyGraphExec); err != nil {
		return err
	}
	if err := g.forbid(callDestroyGraphExec, cudaErrorStreamCaptureUnsupported); err != nil {
		return err
	}
	x, err := g.exec(callDestroyGraphExec, handle)
	if err != nil {
		return err
	}
	delete(g.execs, handle)
	g.disown(x.memory)
	return nil
}
