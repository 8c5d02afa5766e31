package torch

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/refinement"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/reference"
	binary "gaugeblock/tools/torch/binary"
)

// Mallocs that release the lock around their driver calls, on both allocators: a malloc is as many
// operations as it has steps in tla/TwoStepMalloc.tla. It waits in its driver call, in a goroutine
// of its own, while other operations are performed.

// newStepPair makes a pair whose mallocs have such steps. end lets those end that wait.
func newStepPair(h trace.Header, every int, our perform.Hardware, captures *routedCaptures, their perform.Hardware) (p *Pair, end func(), err error) {
	ours, theirs := refinement.NewCalls(), refinement.NewCalls()
	captures.calls = ours
	p, err = newPairOf(h, every, reference.NewWithMallocs(ours.Malloc), our, captures.around, their)
	if err != nil {
		return nil, nil, err
	}
	pytorch := p.pytorch.Allocator().(binary.Stepper)
	theirs.Waits, theirs.GoesOn = pytorch.Waits, pytorch.GoesOn
	pytorch.UseSteps(theirs)
	return p, func() { ours.End(); theirs.End() }, nil
}

// Malloc implements spec.Driver.
func (r *routedCaptures) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	malloc := func() (spec.Ptr, error) { return r.GPU.Malloc(dev, bytes) }
	if r.calls != nil {
		return r.calls.AroundDriver(malloc)
	}
	return malloc()
}
