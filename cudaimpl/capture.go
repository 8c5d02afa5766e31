//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult begin_capture(CUcontext c, CUstream s, int mode) { return IN(c, cu.StreamBeginCapture(s, mode)); }
static CUresult end_capture(CUcontext c, CUstream s, CUgraph *g) { return IN(c, cu.StreamEndCapture(s, g)); }

// The newer generation of the two calls knows edges with data on them, of which
// nothing is wanted here; but it is asked for them, since not asking is an error
// where there are some.
static CUresult capture_info(CUcontext c, CUstream s, int *status, uint64_t *id, CUgraph *g, const CUgraphNode **nodes, size_t *n) {
	if (cu.StreamGetCaptureInfo3 != NULL) {
		const CUedge *edges;
		return IN(c, cu.StreamGetCaptureInfo3(s, status, id, g, nodes, &edges, n));
	}
	return IN(c, cu.StreamGetCaptureInfo2(s, status, id, g, nodes, n));
}
static CUresult dependencies(CUcontext c, CUgraphNode node, CUgraphNode *nodes, CUedge *edges, size_t *n) {
	if (cu.NodeGetDependencies2 != NULL) {
		return IN(c, cu.NodeGetDependencies2(node, nodes, edges, n));
	}
	return IN(c, cu.NodeGetDependencies1(node, nodes, n));
}
static CUresult is_capturing(CUcontext c, CUstream s, int *status) { return IN(c, cu.StreamIsCapturing(s, status)); }
*/
import "C"

import (
	"errors"
	"unsafe"

	"gaugeblock/spec"
)

// captureStatuses are CUDA's (CUstreamCaptureStatus) as the contract has them.
var captureStatuses = [...]spec.CaptureStatus{spec.CaptureNone, spec.CaptureActive, spec.CaptureInvalidated}

// CaptureStatus implements spec.Driver (cuStreamGetCaptureInfo).
func (g *GPU) CaptureStatus(dev spec.Device, s spec.Stream) (spec.CaptureInfo, error) {
	const method = "CaptureStatus"
	context, err := g.context(method, dev)
	if err != nil {
		return spec.CaptureInfo{}, err
	}
	var (
		status C.int
		id     C.uint64_t
		graph  C.CUgraph
		nodes  *C.CUgraphNode
		n      C.size_t
	)
	r := C.capture_info(context, C.CUstream(s), &status, &id, &graph, &nodes, &n)
	if r == captureImplicitError && s == 0 {
		return spec.CaptureInfo{}, nil // another stream is captured; the default stream never is
	}
	if err := check(method, "cuStreamGetCaptureInfo", r); err != nil {
		return spec.CaptureInfo{}, err
	}
	info := spec.CaptureInfo{Status: captureStatuses[status]}
	if info.Status != spec.CaptureActive {
		return info, nil
	}
	info.ID, info.Graph = spec.CaptureID(id), spec.Graph(graph)
	for _, node := range unsafe.Slice(nodes, n) {
		info.Terminals = append(info.Terminals, spec.GraphNode(node))
	}
	return info, nil
}

// NodeDependencies implements spec.Driver (cuGraphNodeGetDependencies). The node has to
// be one that CaptureStatus or this told, of a graph that is still there.
func (g *GPU) NodeDependencies(node spec.GraphNode) ([]spec.GraphNode, error) {
	const method, function = "NodeDependencies", "cuGraphNodeGetDependencies"
	context, err := g.anyContext(method)
	if err != nil {
		return nil, err
	}
	if node == 0 {
		return nil, refuse(method, invalidValue, "there is no node 0")
	}
	var n C.size_t
	if err := check(method, function, C.dependencies(context, C.CUgraphNode(node), nil, nil, &n)); err != nil || n == 0 {
		return nil, err
	}
	nodes, edges := make([]C.CUgraphNode, n), make([]C.CUedge, n)
	if err := check(method, function, C.dependencies(context, C.CUgraphNode(node), &nodes[0], &edges[0], &n)); err != nil {
		return nil, err
	}
	var before []spec.GraphNode
	for _, b := range nodes[:n] {
		before = append(before, spec.GraphNode(b))
	}
	return before, nil
}

// FreeForbidden implements spec.Driver, for the captures that began through this GPU.
// StreamCaptured tells of others.
func (g *GPU) FreeForbidden() bool {
	g.ledger.mu.RLock()
	defer g.ledger.mu.RUnlock()
	for _, mode := range g.ledger.captures {
		if mode != spec.CaptureRelaxed {
			return true
		}
	}
	return false
}

// StreamCaptured reports whether a stream takes part in a capture, whoever began it.
func (g *GPU) StreamCaptured(dev spec.Device, s spec.Stream) bool {
	context, err := g.context("StreamCaptured", dev)
	if err != nil || s == 0 {
		return false
	}
	var status C.int
	return C.is_capturing(context, C.CUstream(s), &status) == 0 && captureStatuses[status] != spec.CaptureNone
}

// BeginCapture implements spec.Executor (cuStreamBeginCapture). spec's modes have CUDA's
// numbers.
func (g *GPU) BeginCapture(dev spec.Device, s spec.Stream, mode spec.CaptureMode) error {
	const method = "BeginCapture"
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	if err := check(method, "cuStreamBeginCapture", C.begin_capture(context, C.CUstream(s), C.int(mode))); err != nil {
		return err
	}
	g.ledger.mu.Lock()
	defer g.ledger.mu.Unlock()
	g.ledger.captures[s] = mode
	return nil
}

// EndCapture implements spec.Executor (cuStreamEndCapture). The capture is over even if
// it fails, unless it began on another stream.
func (g *GPU) EndCapture(dev spec.Device, s spec.Stream) (spec.Graph, error) {
	const method = "EndCapture"
	context, err := g.context(method, dev)
	if err != nil {
		return 0, err
	}
	var graph C.CUgraph
	err = check(method, "cuStreamEndCapture", C.end_capture(context, C.CUstream(s), &graph))
	var failed *spec.DriverError
	if !errors.As(err, &failed) || failed.Code != captureUnmatched {
		g.ledger.endCapture(s)
	}
	if err != nil {
		return 0, err
	}
	g.ledger.add(kindGraph, uint64(graph), entry{device: dev})
	return spec.Graph(graph), nil
}

func (l *ledger) endCapture(s spec.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.captures, s)
}
