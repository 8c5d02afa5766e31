package graphtree

import (
	"fmt"

	"gaugeblock/spec"
)

// Launching again. A recorded child may run when everything is as it was when it
// was recorded: the inputs that it reads in place lie at the same addresses, and
// what was dead is dead. Of several children that fit the first one runs. The
// allocator is not asked at all, and what it knows of the pool is out of date from
// then on; see checkpoint.go.

// mismatch is why a recorded child may not run.
type mismatch int

const (
	fits      mismatch = iota
	elsewhere          // an input that is read in place lies elsewhere
	notDead            // an output is live that was dead
)

// compare says whether the child may run after the present path, with the inputs.
func (n *node) compare(inputs []*Tensor) mismatch {
	r := n.recording
	moved := func(read func(*recordedInput) bool) bool {
		for i := range r.inputs {
			if read(&r.inputs[i]) && inputs[i].ptr() != r.inputs[i].memory.Ptr {
				return true
			}
		}
		return false
	}
	switch {
	case len(inputs) != len(r.inputs):
		return elsewhere
	case moved(func(in *recordedInput) bool { return in.managed }):
		return elsewhere
	case !allDead(n.path(), r.deadBefore):
		return notDead
	case moved(func(in *recordedInput) bool { return in.static }):
		return elsewhere
	}
	return fits
}

// execute launches a child that fits.
func (m *Manager) execute(n *node, inputs []*Tensor) ([]*Tensor, error) {
	r := n.recording
	if err := m.letGo(n, inputs); err != nil {
		return nil, m.abandon(inputs, err)
	}
	for i := range r.inputs {
		in := &r.inputs[i]
		if !in.copied() {
			continue
		}
		if have := inputs[i].storage.memory.Bytes; have != in.memory.Bytes {
			err := &spec.InvalidArgumentError{
				Op:     "call " + n.function.Name,
				Reason: fmt.Sprintf("input %d has %d bytes, and had %d when it was recorded", i, have, in.memory.Bytes),
			}
			return nil, m.abandon(inputs, err)
		}
		if err := m.refresh(m.program, in, inputs[i]); err != nil {
			return nil, m.abandon(inputs, err)
		}
	}
	if err := m.gpu.LaunchGraph(r.exec, m.device, m.program); err != nil {
		return nil, m.abandon(inputs, err)
	}
	outputs := n.makeOutputs()
	m.arrive(n, Execution)
	return outputs, releaseAll(inputs)
}

// letGo releases the managed inputs, but for those that are returned, and makes
// sure that the graph writes to nothing that is held: what died while the function
// was recorded has to be dead now. Only the program can have kept it, by passing on
// a Share where it passed its only hold before.
func (m *Manager) letGo(n *node, inputs []*Tensor) error {
	r := n.recording
	for i := range r.inputs {
		if r.inputs[i].managed && !r.inputs[i].preserved {
			if err := inputs[i].Release(); err != nil {
				return err
			}
		}
	}
	path := n.path()
	if !allDead(path, r.deadAfter) {
		return n.refuse("an input that was let go while the function was recorded is still held, and the graph would overwrite it")
	}
	for i := range r.results {
		if result := &r.results[i]; result.kind == ofEarlier && !result.earlier.of(path).live() {
			return n.refuse("an earlier output that the function returned when it was recorded is not held any more")
		}
	}
	return nil
}

// refuse says why a child that fits may not be launched.
func (n *node) refuse(reason string) error {
	return &spec.InvalidStateError{Op: "call " + n.function.Name, Reason: reason}
}

// makeOutputs makes what the launch has left, as it was at the recording.
func (n *node) makeOutputs() []*Tensor {
	n.fillCache()
	path := n.path()
	outputs := make([]*Tensor, len(n.outputs))
	for i := range n.recording.results {
		result := &n.recording.results[i]
		var s *storage
		switch {
		case result.cache != nil:
			s = result.cache
		case result.kind == fixed:
			s = result.fixed
		case result.kind == ofEarlier:
			s = result.earlier.of(path).storage
		case result.kind == ofSibling:
			s = outputs[result.sibling].storage
		default:
			s = &storage{manager: n.outputs[i].storage.manager, memory: result.memory}
		}
		if w := n.outputs[i]; w != nil {
			w.storage = s
		}
		outputs[i] = &Tensor{storage: s.hold()}
	}
	return outputs
}
