package perform

import (
	"errors"
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Captures of streams, and the graphs that come of them. Only an allocator that has
// private pools can be taken through a capture: what a graph uses must not be allocated
// to anyone else.
var captureKinds = map[trace.OpKind]kind{
	trace.OpCaptureBegin: {perform: (*machine).captureBegin, needs: privatePools},
	trace.OpCaptureEnd:   {perform: (*machine).captureEnd, needs: privatePools},
	trace.OpMarkBegin:    {perform: func(m *machine, op *trace.Op) error { return m.markBegin(op.Device) }},
	trace.OpMarkEnd:      {perform: func(m *machine, op *trace.Op) error { return m.markEnd(op.Device) }},
	trace.OpGraphLaunch:  {perform: (*machine).graphLaunch, needs: privatePools},
	trace.OpGraphDestroy: {perform: (*machine).graphDestroy, needs: privatePools},
}

func (m *machine) captureBegin(op *trace.Op) error {
	stream := m.stream(op, op.Stream)
	if err := m.gpu.BeginCapture(op.Device, stream, op.Mode); err != nil {
		return err
	}
	m.captured = append(m.captured, spec.DeviceStream{Device: op.Device, Stream: stream})
	if m.header.Marks {
		return nil
	}
	return m.markBegin(op.Device)
}

// markBegin tells the allocator that a capture has begun on the device, markEnd that one has
// ended. An allocator that is not told of captures has nothing to do.
func (m *machine) markBegin(dev spec.Device) error {
	if marker, able := m.allocator.(spec.CaptureMarker); able {
		return marker.MarkCaptureBegin(dev)
	}
	return nil
}

func (m *machine) markEnd(dev spec.Device) error {
	if marker, able := m.allocator.(spec.CaptureMarker); able {
		return marker.MarkCaptureEnd(dev)
	}
	return nil
}

// graph is what a capture made, ready to be launched.
type graph struct {
	captured spec.Graph
	exec     spec.GraphExec
}

func (m *machine) captureEnd(op *trace.Op) error {
	stream := spec.DeviceStream{Device: op.Device, Stream: m.stream(op, op.Stream)}
	captured, err := m.gpu.EndCapture(stream.Device, stream.Stream)
	if at := slices.Index(m.captured, stream); at >= 0 {
		m.captured = slices.Delete(m.captured, at, at+1)
		if !m.header.Marks {
			err = errors.Join(err, m.markEnd(op.Device))
		}
	}
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
		return ErrSkipped
	}
	return m.gpu.LaunchGraph(g.exec, op.Device, m.stream(op, op.Stream))
}

func (m *machine) graphDestroy(op *trace.Op) error {
	g, made := m.graphs[op.Graph]
	if !made {
		return ErrSkipped
	}
	delete(m.graphs, op.Graph)
	return errors.Join(m.gpu.DestroyGraphExec(g.exec), m.gpu.DestroyGraph(g.captured))
}
