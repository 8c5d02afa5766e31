package graphtree

import (
	"fmt"

	"gaugeblock/spec"
)

// Launching a recording. A recorded child can be launched when everything is as it was
// when it was recorded: the inputs that it reads in place are at the same addresses,
// and what was dead is dead. Of several children that fit the first one is launched.
// The allocator is not called, and its state of the pool is out of date from then on;
// see checkpoint.go.

// invariantStatus is why a recorded child cannot be launched (upstream:
// CheckInvariantStatus).
type invariantStatus int

const (
	fits                 invariantStatus = iota
	inputMismatch                        // an input that is read in place is at another address
	expectedDeadMismatch                 // an output is live that was dead
)

// checkInvariants says whether the child can be launched after the present path, with
// the inputs.
func (n *node) checkInvariants(inputs []*Tensor) invariantStatus {
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
		return inputMismatch
	case moved(func(in *recordedInput) bool { return in.managed }):
		return inputMismatch
	case !allDead(n.path(), r.deadBefore):
		return expectedDeadMismatch
	case moved(func(in *recordedInput) bool { return in.static }):
		return inputMismatch
	}
	return fits
}

// execute launches a child that fits.
func (m *Manager) execute(n *node, inputs []*Tensor) ([]*Tensor, error) {
	r := n.recording
	if err := m.releaseManagedInputs(n, inputs); err != nil {
		return nil, m.releaseAfter(inputs, err)
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
			return nil, m.releaseAfter(inputs, err)
		}
		if err := m.copyInput(m.program, in, inputs[i]); err != nil {
			return nil, m.releaseAfter(inputs, err)
		}
	}
	if err := m.gpu.LaunchGraph(r.exec, m.device, m.program); err != nil {
		return nil, m.releaseAfter(inputs, err)
	}
	outputs := n.reconstructOutputs()
	m.setCurrent(n, Execution)
	return outputs, releaseAll(inputs)
}

// releaseManagedInputs releases the inputs that are outputs on the path, except those
// that are returned. Then it checks that the graph writes to nothing that is live: what
// died while the function was recorded has to be dead now. It can be live only if the
// program passed a Share where it had passed its only reference before.
func (m *Manager) releaseManagedInputs(n *node, inputs []*Tensor) error {
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
		return n.refuse("an input that was released while the function was recorded is still referenced, and the graph would overwrite it")
	}
	for i := range r.outputInfos {
		if info := &r.outputInfos[i]; info.kind == aliasesPriorOutput && !info.prior.of(path).live() {
			return n.refuse("an earlier output that the function returned when it was recorded is not live any more")
		}
	}
	return nil
}

// refuse is the error for a child that fits and cannot be launched.
func (n *node) refuse(reason string) error {
	return &spec.InvalidStateError{Op: "call " + n.function.Name, Reason: reason}
}

// reconstructOutputs makes the outputs of a launch, as they were at the recording.
func (n *node) reconstructOutputs() []*Tensor {
	n.fillCache()
	path := n.path()
	outputs := make([]*Tensor, len(n.outputs))
	for i := range n.recording.outputInfos {
		info := &n.recording.outputInfos[i]
		var s *storage
		switch {
		case info.cache != nil:
			s = info.cache
		case info.kind == staticInput:
			s = info.input
		case info.kind == aliasesPriorOutput:
			s = info.prior.of(path).storage
		case info.kind == aliasesNewOutput:
			s = outputs[info.newOutput].storage
		default:
			s = &storage{manager: n.outputs[i].storage.manager, memory: info.memory}
		}
		if w := n.outputs[i]; w != nil {
			w.storage = s
		}
		outputs[i] = &Tensor{storage: s.addRef()}
	}
	return outputs
}
