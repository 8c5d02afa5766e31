package torch

import (
	"cmp"
	"errors"
	"fmt"

	"gaugeblock/conformance/perform"
	"gaugeblock/fakegpu"
	"gaugeblock/internal/refinement"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/torch/edges"
	"gaugeblock/upstream"
)

// A walk through the states of a configuration (edges.go), performed by a worker: on the
// reference and on PyTorch's allocator, with PyTorch's sizes.

// hardware is what the devices of the program are, and what is to be put around the reference's;
// nil: what the header says.
func (o *Outcome) hardware() (perform.Hardware, *routedCaptures) {
	if scale := edges.Find(o.Scale); scale != nil {
		return scale.NewDevice().Hardware, &routedCaptures{}
	}
	return nil, nil
}

// routedCaptures is the device of the reference, which asks whether a stream is captured. PyTorch
// never does.
type routedCaptures struct {
	refinement.RoutedGPU
	calls *refinement.Calls // mallocs that wait around their driver calls; nil: they do not
}

// around is a perform.Around.
func (r *routedCaptures) around(g *fakegpu.GPU) perform.Device {
	if r == nil {
		return g
	}
	r.GPU = g
	return r
}

// follow hears of an operation that the reference has performed.
func (r *routedCaptures) follow(op *trace.Op, out *perform.Result, h *trace.Header) {
	if r == nil || out.Err != nil || rulesOf(h).Captures == upstream.CapturesByMark { // without a capture: bounded.SetRules
		return
	}
	switch op.Kind {
	case trace.OpPoolBegin:
		r.Begin(op.Pool, h.Streams[op.Stream])
	case trace.OpPoolEnd:
		r.End(op.Pool)
	}
}

// follow performs the walk up to the first difference.
func (j *job) follow(at *place) (r reply) {
	scale := edges.Find(j.Scale)
	ours, device := scale.NewDevice(), scale.NewDevice()
	captures, end := &routedCaptures{}, func() {}
	var pair *Pair
	var err error
	if scale.TwoStep {
		pair, end, err = newStepPair(j.Header, j.Every, ours.Hardware, captures, device.Hardware)
	} else {
		pair, err = newPairOn(j.Header, j.Every, ours.Hardware, captures.around, device.Hardware)
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	defer end()
	r.Listed = pair.Listed
	o := Outcome{Header: j.Header, Scale: j.Scale, Every: j.Every}
	perform := func(op trace.Op) (*perform.Result, *Difference) {
		o.Ops = append(o.Ops, op)
		did, difference := pair.Step(&op)
		captures.follow(&op, did, &j.Header)
		return did, difference
	}
	for i := range j.Ops {
		op := j.Ops[i]
		wanted := op.Expect.Error
		op.Expect = trace.Expectation{}
		at.set(0, 0, i+1)
		r.Operations++
		did, difference := perform(op)
		if difference == nil && i > 0 && j.Ops[i-1].Kind == trace.OpFault && op.Kind != trace.OpFault {
			if difference = pair.unmetFault(&op); difference != nil && !scale.Exact() && difference.Reference == difference.PyTorch {
				r.Otherwise = i + 1
				break
			}
		}
		if difference == nil && trace.ErrorName(did.Err) != wanted {
			if difference = pair.askedCaptured(&op); difference == nil {
				r.Otherwise = i + 1
				break
			}
		}
		if difference == nil {
			pair.freeLostRanges(device.Beyond(ours))
		}
		if difference == nil && j.Layouts[i] != 0 {
			difference = pair.compareLayout(device, j.Layouts[i], &op)
		}
		if difference == nil {
			continue
		}
		difference.Operation, o.Difference = i+1, difference
		if difference.What == askedCaptured {
			o.Row = "captures/eager-use"
		} else if o.Row, err = explain(&o); err != nil {
			return reply{Error: err.Error()}
		}
		o.Ops = nil
		r.Outcomes = append(r.Outcomes, o)
		break
	}
	return r
}

// askedCaptured is what differs from the specification where an event was recorded in a stream that is captured.
const askedCaptured = "an event of a capture is asked for"

// askedCaptured is the difference that the device refuses to say whether an event is complete, since it was recorded
// in a capture. The two have done the same. In the specification such a call is illegal, but answered.
func (p *Pair) askedCaptured(op *trace.Op) *Difference {
	failed, is := errors.AsType[*spec.DriverError](p.answered.Err)
	if !is || failed.Call != "QueryEvent" && failed.Call != "SynchronizeEvent" {
		return nil
	}
	return &Difference{
		Op: op.InWords(), What: askedCaptured, Reference: inWords(p.answered.Err), PyTorch: inWords(p.did.Err), ours: p.answered, theirs: p.did,
	}
}

// unmetFault is the difference that a driver call which had to fail was not made, by either.
func (p *Pair) unmetFault(op *trace.Op) *Difference {
	ours, theirs := p.reference.GPU().PendingFaults(), p.pytorch.GPU().PendingFaults()
	if ours+theirs == 0 {
		return nil
	}
	return &Difference{
		Op: op.InWords(), What: "faults that were not met", Reference: fmt.Sprint(ours), PyTorch: fmt.Sprint(theirs), ours: p.answered, theirs: p.did,
	}
}

// freeLostRanges frees ranges of addresses that PyTorch's allocator has lost with their pools, and
// counts them. The program goes on: the next range has the same address on both devices.
func (p *Pair) freeLostRanges(lost []spec.Range) {
	for _, r := range lost {
		if p.pytorch.GPU().FreeAddress(r.Ptr, r.Bytes) == nil {
			p.Listed[rowLostRange]++
		}
	}
}

// compareLayout compares the memory that PyTorch's allocator has with that of a state of
// the specification, by its hash.
func (p *Pair) compareLayout(d *edges.Device, wanted uint64, op *trace.Op) *Difference {
	snapshot, err := p.pytorch.Allocator().Snapshot()
	var seen edges.Layout
	if err == nil {
		seen, err = seen.Seen(d, snapshot.Segments, p.header.Streams)
	}
	if err == nil && seen.Hash() == wanted {
		return nil
	}
	return &Difference{
		Op: op.InWords(), What: "layout of the specification", Reference: "another",
		PyTorch: cmp.Or(inWordsIfAny(err), seen.String()), ours: p.answered, theirs: p.did,
	}
}

func inWordsIfAny(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// streamsInOrder are handles for the streams of a configuration, by number; 0 is the default
// stream. PyTorch's tables have them in this order.
func streamsInOrder(n int) []spec.Stream {
	return append([]spec.Stream{0}, orderedStreams(0, n, 0x5000_0000_0000)...)
}
