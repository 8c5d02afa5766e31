package replay

import (
	"errors"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Captures of streams, and the graphs that come of them. Only an allocator that has
// private pools can be taken through a capture: what a graph uses must not be allocated
// to anyone else.
var captureKinds = map[trace.OpKind]kind{
	trace.OpCaptureBegin: {perform: (*machine).captureBegin, needs: privatePools},
	trace.OpCaptureEnd:   {perform: (*machine).captureEnd, needs: privatePools},
	trace.OpGraphLaunch:  {perform: (*machine).graphLaunch, needs: privatePools},
	trace.OpGraphDestroy: {perform: (*machine).graphDestroy, needs: privatePools},
}

func (m *machine) captureBegin(op *trace.Op) error {
	return m.gpu.BeginCapture(op.Device, m.stream(op, op.Stream), op.Mode)
}

// graph is what a capture made, ready to be launched.
type graph struct {
	captured spec.Graph
	exec     spec.GraphExec
}

func (m *machine) captureEnd(op *trace.Op) error {
	captured, err := m.gpu.EndCapture(op.Device, m.stream(op, op.Stream))
	if err != nil {
		return err
	}
	exec, err := m.gpu.Instantiate(captured)
	if err != nil {
		return errors.Join(err, m.gpu.DestroyGraph(captured))
	}
	m.graphs[op.Graph] = graph{captured, exec}
	return nil
}

func (m *machine) graphLaunch(op *trace.Op) error {
	g, made := m.graphs[op.Graph]
	if !made {
		return errSkipped
	}
	return m.gpu.LaunchGraph(g.exec, op.Device, m.stream(op, op.Stream))
}

func (m *machine) graphDestroy(op *trace.Op) error {
	g, made := m.graphs[op.Graph]
	if !made {
		return errSkipped
	}
	delete(m.graphs, op.Graph)
	return errors.Join(m.gpu.DestroyGraphExec(g.exec), m.gpu.DestroyGraph(g.captured))
}
