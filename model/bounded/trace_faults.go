package bounded

import (
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Driver calls that fail in a trace: the operation comes behind a fault, which names the call.

// faultyStep appends the operations of a step in which a driver call fails. A step FailedMalloc
// allocates nothing, and in a step FailedFree nothing is freed.
func (t *Tracer) faultyStep(from *model.State, name string, arguments []int) bool {
	if t.forReplay {
		return false // what it leaves behind is not the same to every driver
	}
	switch name {
	case "RefusedMalloc":
		t.refusedMalloc(from, arguments)
		return true
	case "FailedMalloc":
		t.fault(DriverCalls(from, name, arguments))
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: uint64(arguments[1])})
		t.mallocs++
	case "FailedFree":
		t.fault(DriverCalls(from, name, arguments))
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFree, ID: t.live[arguments[0]]})
	case "FailedEmptyCache":
		t.fault(DriverCalls(from, name, arguments))
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpEmptyCache})
	default:
		return false
	}
	t.Ops[len(t.Ops)-1].Expect.Error = trace.ErrorDriver
	return true
}

// fault makes the last of some calls of the model fail.
func (t *Tracer) fault(calls []string) {
	f := spec.FaultSpec{Call: calls[len(calls)-1], Error: spec.FaultUnknown}
	for _, call := range calls {
		if call == f.Call {
			f.Nth++
		}
	}
	t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: f})
}

// refusedMalloc is a malloc for which the driver has no memory the first time.
func (t *Tracer) refusedMalloc(from *model.State, arguments []int) {
	f := spec.FaultSpec{Call: "Malloc", Nth: 1, Error: spec.FaultOutOfMemory}
	if from.Config.ExpandableSegments {
		f.Call = "CreatePage"
	}
	stream, bytes := spec.Stream(arguments[0]), uint64(arguments[1])
	_, result := from.Malloc(stream, bytes, model.DriverResults{LowestFrom: AddressBase, Refusals: 1})
	op := trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: bytes}
	op.Expect.Error = trace.ErrorName(result.Err)
	if result.Err == nil {
		t.live[toUnits(result.Ptr)] = t.mallocs
	}
	t.mallocs++
	t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: f}, op)
}
