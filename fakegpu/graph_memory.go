package fakegpu

import (
	"slices"

	"gaugeblock/spec"
)

// Memory of graphs (cudaMallocAsync and cudaFreeAsync in a capture). A request makes a node,
// and has its address at once; the memory is allocated from a launch of the graph until a node
// of the graph frees it, or the program does after the launch. The rules were measured on an
// H200 (CUDA 13.0):
//
//   - A capture frees only memory that it has requested itself.
//   - A graph with such memory has one executable graph at a time.
//   - While memory of an earlier launch is allocated the graph cannot be launched again.
//   - Memory that no launch has allocated cannot be freed.
//
// Here the memory is there from the capture on, until nothing can launch or free it any more.
// Which lifetimes launches give it is not followed.
type graphMemory struct {
	area   *area
	freed  bool // by a node of the graph
	live   bool // allocated by a launch, and no node frees it
	owners int  // the graph, and what was instantiated of it
}

// MallocInCapture is cudaMallocAsync for a stream that is being captured.
func (g *GPU) MallocInCapture(dev spec.Device, handle spec.Stream, bytes uint64) (spec.Ptr, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callMalloc); err != nil {
		return 0, err
	}
	s, err := g.capturedStream(callMalloc, dev, handle)
	if err != nil {
		return 0, err
	}
	a, err := g.piece(g.devices[dev], bytes)
	if err != nil {
		return 0, err
	}
	m := &graphMemory{area: a, owners: 1}
	a.graph = m
	if err := g.addNode(callMalloc, s, work{kind: workAlloc, device: dev}); err != nil {
		return 0, err
	}
	s.capture.graph.memory = append(s.capture.graph.memory, m)
	return a.Ptr, nil
}

// FreeInCapture is cudaFreeAsync for a stream that is being captured.
func (g *GPU) FreeInCapture(dev spec.Device, handle spec.Stream, ptr spec.Ptr) error {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if err := g.enter(callFree); err != nil {
		return err
	}
	s, err := g.capturedStream(callFree, dev, handle)
	if err != nil {
		return err
	}
	for _, m := range s.capture.graph.memory {
		if m.area.Ptr == ptr && !m.freed {
			m.freed = true
			return g.addNode(callFree, s, work{kind: workFree, device: dev})
		}
	}
	return cudaErrorInvalidValue.in(callFree, "%v was not requested in the capture of %v", ptr, s)
}

// capturedStream finds a stream that is being captured.
func (g *GPU) capturedStream(c call, dev spec.Device, handle spec.Stream) (*stream, error) {
	s, err := g.stream(c, dev, handle)
	if err != nil {
		return nil, err
	}
	if s.capture == nil {
		return nil, cudaErrorIllegalState.in(c, "%v is not being captured", s)
	}
	return s, s.capture.usable(c)
}

// FreeOfGraph frees memory that a launch of a graph has allocated; found is false if the address
// is of no such memory.
func (g *GPU) FreeOfGraph(ptr spec.Ptr) (found bool, err error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.piece(areaPiece, ptr)
	if a == nil || a.graph == nil {
		return false, nil
	}
	if err := g.enter(callFree); err != nil {
		return true, err
	}
	if !a.graph.live {
		return true, cudaErrorInvalidValue.in(callFree, "no launch has allocated the memory at %v", ptr)
	}
	a.graph.live = false
	g.release(a.graph)
	return true, nil
}

// IsOfGraph reports whether an address is of memory of a graph.
func (g *GPU) IsOfGraph(ptr spec.Ptr) bool {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	a := g.space.piece(areaPiece, ptr)
	return a != nil && a.graph != nil
}

// GraphMemory is how many bytes launches of graphs have allocated on a device, and how many there
// are for graphs (cudaDeviceGetGraphMemAttribute).
func (g *GPU) GraphMemory(dev spec.Device) (used, reserved uint64) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	for _, a := range g.space.inOrder() {
		if a.graph == nil || a.device != dev {
			continue
		}
		reserved += a.Bytes
		if a.graph.live {
			used += a.Bytes
		}
	}
	return used, reserved
}

// GraphNodes lists the nodes of a graph, in the order in which they were captured
// (cudaGraphGetNodes).
func (g *GPU) GraphNodes(handle spec.Graph) ([]spec.GraphNode, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	gr, err := g.graph(callNodeDependencies, handle)
	if err != nil {
		return nil, err
	}
	var list []spec.GraphNode
	for _, n := range gr.nodes {
		list = append(list, n.handle)
	}
	return list, nil
}

// NodeType is CUDA's number of a node's type (cudaGraphNodeType).
func (g *GPU) NodeType(handle spec.GraphNode) (int, error) {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	n := g.nodes[handle]
	if n == nil {
		return 0, cudaErrorInvalidValue.in(callNodeDependencies, "there is no node %#x", uint64(handle))
	}
	types := map[workKind]int{workCopy: 1, workCopyIn: 1, workCopyOut: 1, workFill: 2, workHost: 3, workEmpty: 5, workAlloc: 10, workFree: 11}
	return types[n.work.kind], nil
}

// own is the executable graph's part of the graph's memory.
func (x *graphExec) own(c call, gr *graph) error {
	if slices.ContainsFunc(gr.memory, func(m *graphMemory) bool { return m.owners > 1 }) {
		return cudaErrorNotSupported.in(c, "graph %#x allocates memory, and there is an executable graph of it", uint64(gr.handle))
	}
	x.memory = gr.memory
	for _, m := range x.memory {
		m.owners++
	}
	return nil
}

// allocate is what a launch does.
func (x *graphExec) allocate(c call) error {
	for _, m := range x.memory {
		if m.live {
			return cudaErrorInvalidValue.in(c, "the memory at %v that the launch before has allocated was not freed", m.area.Ptr)
		}
	}
	for _, m := range x.memory {
		m.live = !m.freed
	}
	return nil
}

// disown gives up a graph's, or an executable graph's, part of memory.
func (g *GPU) disown(memory []*graphMemory) {
	for _, m := range memory {
		m.owners--
		g.release(m)
	}
}

// release gives memory back that nothing can launch or free any more.
func (g *GPU) release(m *graphMemory) {
	if m.owners == 0 && !m.live {
		g.remove(m.area)
	}
}
