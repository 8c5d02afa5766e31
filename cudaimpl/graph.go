//go:build cgo && linux

package cudaimpl

/*
#include "driver.h"

static CUresult instantiate(CUcontext c, CUgraphExec *x, CUgraph g) { return IN(c, cu.GraphInstantiate(x, g, 0)); }
static CUresult graph_launch(CUcontext c, CUgraphExec x, CUstream s) { return IN(c, cu.GraphLaunch(x, s)); }
static CUresult graph_destroy(CUcontext c, CUgraph g) { return IN(c, cu.GraphDestroy(g)); }
static CUresult exec_destroy(CUcontext c, CUgraphExec x) { return IN(c, cu.GraphExecDestroy(x)); }
*/
import "C"

import "gaugeblock/spec"

// Instantiate implements spec.Executor (cuGraphInstantiateWithFlags).
func (g *GPU) Instantiate(graph spec.Graph) (spec.GraphExec, error) {
	const method = "Instantiate"
	e, err := g.ledger.find(method, kindGraph, uint64(graph))
	if err != nil {
		return 0, err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return 0, err
	}
	var x C.CUgraphExec
	if err := check(method, "cuGraphInstantiateWithFlags", C.instantiate(context, &x, C.CUgraph(graph))); err != nil {
		return 0, err
	}
	g.ledger.add(kindGraphExec, uint64(x), entry{device: e.device})
	return spec.GraphExec(x), nil
}

// LaunchGraph implements spec.Executor (cuGraphLaunch).
func (g *GPU) LaunchGraph(x spec.GraphExec, dev spec.Device, s spec.Stream) error {
	const method = "LaunchGraph"
	if _, err := g.ledger.find(method, kindGraphExec, uint64(x)); err != nil {
		return err
	}
	context, err := g.context(method, dev)
	if err != nil {
		return err
	}
	return check(method, "cuGraphLaunch", C.graph_launch(context, C.CUgraphExec(x), C.CUstream(s)))
}

// DestroyGraph implements spec.Executor (cuGraphDestroy).
func (g *GPU) DestroyGraph(graph spec.Graph) error {
	const method = "DestroyGraph"
	e, err := g.ledger.find(method, kindGraph, uint64(graph))
	if err != nil {
		return err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuGraphDestroy", C.graph_destroy(context, C.CUgraph(graph))); err != nil {
		return err
	}
	g.ledger.drop(kindGraph, uint64(graph))
	return nil
}

// DestroyGraphExec implements spec.Executor (cuGraphExecDestroy).
func (g *GPU) DestroyGraphExec(x spec.GraphExec) error {
	const method = "DestroyGraphExec"
	e, err := g.ledger.find(method, kindGraphExec, uint64(x))
	if err != nil {
		return err
	}
	context, err := g.context(method, e.device)
	if err != nil {
		return err
	}
	if err := check(method, "cuGraphExecDestroy", C.exec_destroy(context, C.CUgraphExec(x))); err != nil {
		return err
	}
	g.ledger.drop(kindGraphExec, uint64(x))
	return nil
}
