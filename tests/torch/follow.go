package torch

import (
	"cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tests/replay"
	"gaugeblock/tests/torch/edges"
)

// A walk through the states of a configuration (edges.go), performed by a worker: on the
// reference and on PyTorch's allocator, with PyTorch's sizes.

// hardware is what the devices of the program are; nil: what the header says.
func (o *Outcome) hardware() replay.Hardware {
	if scale := edges.Find(o.Scale); scale != nil {
		return scale.NewDevice().Hardware
	}
	return nil
}

// follow performs the walk up to the first difference.
func (j *job) follow(at *place) (r reply) {
	scale := edges.Find(j.Scale)
	device := scale.NewDevice()
	pair, err := newPairOn(j.Header, j.Every, scale.NewDevice().Hardware, device.Hardware)
	if err != nil {
		return reply{Error: err.Error()}
	}
	r.Listed = pair.Listed
	o := Outcome{Header: j.Header, Scale: j.Scale, Every: j.Every}
	perform := func(op trace.Op) (*replay.Performed, *Difference) {
		o.Ops = append(o.Ops, op)
		return pair.Step(&op)
	}
	for i := range j.Ops {
		op := j.Ops[i]
		wanted := op.Expect.Error
		op.Expect = trace.Expectation{}
		at.set(0, 0, i+1)
		r.Operations++
		did, difference := perform(op)
		if difference == nil && op.Kind == trace.OpMalloc && trace.ErrorName(did.Err) != wanted {
			r.Otherwise++
			if did.Err == nil { // the program does not have this memory
				_, difference = perform(trace.Op{Kind: trace.OpFree, ID: op.ID})
			}
		}
		if difference == nil && j.Layouts[i] != 0 {
			difference = pair.compareLayout(device, j.Layouts[i], &op)
		}
		if difference == nil {
			continue
		}
		difference.Operation, o.Difference = i+1, difference
		if o.Row, err = explain(&o); err != nil {
			return reply{Error: err.Error()}
		}
		o.Ops = nil
		r.Outcomes = append(r.Outcomes, o)
		break
	}
	return r
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
