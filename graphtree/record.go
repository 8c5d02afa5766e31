package graphtree

import (
	"errors"

	"gaugeblock/spec"
)

// Recording. The function runs once while its launches are captured. Its calls of the
// allocator are real: blocks that it frees can be allocated again further on, those of
// its outputs stay allocated. A checkpoint at the end has the state that the pool must
// have whenever another recording follows. Then the graph is launched, so that the
// outputs have their contents; the allocator is not called for that.
//
//	parent's end ──(outputs die)──▶ before ──(the body runs)──▶ after
//	             deadBefore                   deadAfter         liveAfter, state

// record makes a node of the function below the present one, and launches it.
func (m *Manager) record(f *Function, inputs []*Tensor) ([]*Tensor, error) {
	n := &node{id: m.recorded, function: f, parent: m.current}
	r := &recording{children: map[*Function][]*node{}}
	path := n.path()
	r.before = livenessOf(path)
	if n.parent != nil {
		r.deadBefore = n.parent.recording.after.changed(r.before)
	}
	r.inputs = inputsOf(f, path[:len(path)-1], inputs)

	outputs, err := m.recordBody(n, r, inputs)
	if err != nil {
		return nil, m.releaseAfter(outputs, err)
	}
	if err := m.gpu.LaunchGraph(r.exec, m.device, m.program); err != nil {
		return nil, m.releaseAfter(outputs, errors.Join(err, m.destroyGraph(r.exec)))
	}
	n.recording = r
	m.recorded++
	m.nodes = append(m.nodes, n)
	siblings := m.children()
	siblings[f] = append(siblings[f], n)
	m.setCurrent(n, Recording)
	return outputs, nil
}

// inputsOf records what each input is. path is that of the parent.
func inputsOf(f *Function, path []*node, inputs []*Tensor) []recordedInput {
	list := make([]recordedInput, len(inputs))
	for i, t := range inputs {
		in := &list[i]
		in.memory = t.storage.memory
		in.static = f.isStatic(i)
		in.at, in.managed = find(path, t.storage)
	}
	return list
}

// recordBody copies the inputs, captures the body and records the conditions for
// launching.
func (m *Manager) recordBody(n *node, r *recording, inputs []*Tensor) (outputs []*Tensor, err error) {
	if inputs, err = m.copyInputs(r, inputs); err != nil {
		return nil, err
	}
	r.exec, err = m.capture(func() (err error) {
		outputs, err = m.runBody(n.function, m.stream, inputs)
		return err
	})
	if err != nil {
		return outputs, m.releaseAfter(inputs, err)
	}
	path := n.path()
	r.deadAfter = r.before.changed(livenessOf(path))
	n.addOutputs(r, path, outputs)
	r.after = livenessOf(path)
	r.liveAfter = r.after.places()
	if r.state, err = m.allocator.Checkpoint(m.device, m.pool); err != nil {
		return outputs, errors.Join(err, m.destroyGraph(r.exec))
	}
	return outputs, nil
}

// copyInputs makes the inputs that the graph will read: those whose address can differ
// at the next call are copied into the pool and released. The body takes over the
// copies, so that their memory can be allocated again as soon as it releases them.
func (m *Manager) copyInputs(r *recording, inputs []*Tensor) ([]*Tensor, error) {
	stable := make([]*Tensor, len(inputs))
	err := m.usePool(func() error {
		for i, t := range inputs {
			if !r.inputs[i].copied() {
				stable[i] = t
				continue
			}
			copied, err := m.malloc(m.stream, t.storage.memory.Bytes)
			if err != nil {
				return err
			}
			stable[i] = copied
			r.inputs[i].memory = copied.storage.memory
		}
		for i, t := range inputs {
			if r.inputs[i].copied() {
				if err := m.copyInput(m.stream, &r.inputs[i], t); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, m.releaseAfter(append(stable, inputs...), err)
	}
	return stable, nil
}

// copyInput copies an input to where the graph reads it, and releases it.
func (m *Manager) copyInput(stream spec.Stream, in *recordedInput, t *Tensor) error {
	return errors.Join(m.copy(stream, in.memory.Ptr, t.ptr(), in.memory.Bytes), t.Release())
}
