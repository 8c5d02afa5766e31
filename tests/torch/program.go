package torch

import (
	"gaugeblock/spec"
	"gaugeblock/tests/conformance"
)

// streams are handles whose order is that of their hashes in PyTorch's tables, as far as
// two do not meet in one place of a small table: the reference goes by handle.
var streams = orderedStreams(15)

// orderedStreams finds n handles, ascending, whose products with the hash's factor divide
// the numbers of 64 bits evenly.
func orderedStreams(n int) []spec.Stream {
	const factor = 11400714819323198485
	handle, list := uint64(0x5000_0000_0000), []spec.Stream{}
	for i := 1; i <= n; i++ {
		for handle += 0x100; handle*factor < uint64(i)<<60 || handle*factor > uint64(i)<<60+1<<59; {
			handle += 0x100
		}
		list = append(list, spec.Stream(handle))
	}
	return list
}

// header sets up a program of the kind that can be compared: the device lets streams catch
// up when somebody waits for them, as hardware does.
func header(h *spec.TraceHeader) {
	h.Waits = true
	h.Source = "gaugeblock torch"
	n := len(h.Streams) - 1
	for i := range n {
		// Evenly spread: of 15 every (16/(n+1))th.
		h.Streams[i+1] = streams[(i+1)*16/(n+1)-1]
	}
}

// Outcome is what came of one program.
type Outcome struct {
	Header     spec.TraceHeader
	Operations int
	Ops        []spec.Op   // if there is a difference
	Difference *Difference // nil: there is none
	Row        string      // of docs/deviations.md that explains it; "": none does
	Listed     map[string]int
}

// Run makes up a program of an area and performs it on both. told hears before each
// operation which it is.
func Run(area *conformance.Area, seed uint64, length, every int, told func(operation int)) (Outcome, error) {
	source, h := area.NewSource(conformance.Seeded(seed), seed, header)
	pair, err := NewPair(h, every)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Header: h, Listed: pair.Listed}
	careful := newCare(h, seed)
	for len(o.Ops) < length {
		op := source.Next()
		if careful.avoids(&op) {
			continue
		}
		o.Ops = append(o.Ops, op)
		told(len(o.Ops))
		did, difference := pair.Step(&op)
		o.Operations++
		if difference != nil {
			o.Difference = difference
			o.Row, err = explain(&o)
			return o, err
		}
		careful.did(&op, &did)
		source.Did(&op, &did)
	}
	if what, our, their := pair.CompareLayouts(); what != "" {
		o.Difference = &Difference{Operation: len(o.Ops), Op: "end", What: what, Reference: our, PyTorch: their}
		o.Row, err = explain(&o)
		return o, err
	}
	o.Ops = nil
	return o, nil
}

// Perform performs the operations of a program that make sense when it is their turn, and
// returns those with the first difference.
func Perform(area *conformance.Area, h spec.TraceHeader, ops []spec.Op, told func(operation int)) (Outcome, error) {
	pair, err := NewPair(h, 1)
	if err != nil {
		return Outcome{}, err
	}
	program := area.NewProgram(h)
	o := Outcome{Header: h, Listed: pair.Listed}
	for _, op := range ops {
		if !program.Prepare(&op) {
			continue
		}
		o.Ops = append(o.Ops, op)
		told(len(o.Ops))
		did, difference := pair.Step(&op)
		o.Operations++
		if difference != nil {
			o.Difference = difference
			o.Row, err = explain(&o)
			return o, err
		}
		program.Did(&op, &did)
	}
	return o, nil
}
