package bounded

import (
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Driver calls that fail in a trace: the operation comes after a fault, which names the call.

// faultyStep appends the operations of a step in which a driver call fails. A step FailedMalloc
// allocates nothing, and in a step FailedFree nothing is freed.
func (t *Tracer) faultyStep(from *model.State, name string, arguments []int) bool {
	if t.forReplay {
		return false // what it leaves behind is not the same to every driver
	}
	var op trace.Op
	switch name {
	case "RefusedMalloc":
		t.refusedMalloc(from, arguments, 1)
		return true
	case "RefusedTwiceMalloc":
		t.refusedMalloc(from, arguments, 2)
		return true
	case "RefusedFailedMalloc":
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: noMemory(from, 1)})
		op = trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: uint64(arguments[1])}
		t.mallocs++
	case "RefusedDriverMalloc":
		op = t.underWay[arguments[0]]
		op.Expect.Error = trace.ErrorOther // it has not ended
		refused := spec.FaultSpec{Call: "Malloc", Nth: 1, Error: spec.FaultOutOfMemory}
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: refused}, op)
		return true
	case "FailedDriverMalloc": // and the malloc ends when it has the lock again
		waits := t.underWay[arguments[0]]
		op, waits.Expect.Error = waits, trace.ErrorOther
		op.Expect.Error = trace.ErrorDriver
		failed := spec.FaultSpec{Call: "Malloc", Nth: 1, Error: spec.FaultUnknown}
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: failed}, waits, op)
		return true
	case "FailedResume":
		op = t.underWay[arguments[0]]
	case "FailedSearch":
		op = trace.Op{
			Kind: trace.OpMalloc, ID: t.mallocs, Thread: spec.Thread(arguments[0]), Stream: arguments[1], Size: uint64(arguments[2]),
		}
		t.mallocs++
	case "FailedMalloc":
		op = trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: uint64(arguments[1])}
		t.mallocs++
	case "FailedFree":
		op = trace.Op{Kind: trace.OpFree, ID: t.live[arguments[0]]}
	case "FailedEmptyCache":
		op = trace.Op{Kind: trace.OpEmptyCache}
	case "FailedCheckpoint":
		t.checkpointCount++
		op = trace.Op{Kind: trace.OpCheckpoint, Pool: PoolID(uint64(arguments[0])), State: t.checkpointCount}
	default:
		return false
	}
	op.Expect.Error = trace.ErrorDriver
	for _, f := range t.faults(from, name, arguments) {
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: f})
	}
	t.Ops = append(t.Ops, op)
	return true
}

// stepCalls are the driver calls of a step, with those that fail; and the operation that makes
// them.
type stepCalls struct {
	from *model.State
	made []string // the last fails

	// at is the state in which the nth call is made.
	at func(nth int) model.State
}

func callsOf(from *model.State, name string, arguments []int) stepCalls {
	operation, made := operationOf(name, arguments), []string(nil)
	if name == "RefusedFailedMalloc" {
		operation = refusedMallocOf(spec.Stream(arguments[0]), uint64(arguments[1]), 1)
		made, _ = CallsAfterRefusal(from, arguments)
	} else {
		made = DriverCalls(from, name, arguments)
	}
	all := from.Calls(operation).Made
	return stepCalls{from, made, func(nth int) model.State { return all[nth-1].Failed }}
}

// faults makes the last of the driver calls of a step fail. Calls that are one in the model are
// several of a driver.
func (t *Tracer) faults(from *model.State, name string, arguments []int) []spec.FaultSpec {
	calls := callsOf(from, name, arguments)
	f := spec.FaultSpec{Call: calls.made[len(calls.made)-1], Error: spec.FaultUnknown}
	for _, call := range calls.made {
		if call == f.Call {
			f.Nth++
		}
	}
	switch f.Call {
	case "MapPage": // of all pages; access is set to all of them at once
		f.Call = "SetAccess"
	case "CreatePage":
		f.Nth = calls.pagesCreated() + 1
		if name == "RefusedFailedMalloc" {
			f.Nth++ // for the page that there was no memory for
		}
		if !t.mapped { // for the first page another kind is tried
			again := f
			again.Nth++
			return []spec.FaultSpec{f, again}
		}
	}
	return []spec.FaultSpec{f}
}

// pagesCreated is how often a page is created, or tried to be, before the last of the calls.
func (c *stepCalls) pagesCreated() (n int) {
	page := c.from.Config.LargeSegmentSize
	reservedAt := func(nth int) uint64 {
		s := c.at(nth)
		return s.Reserved()
	}
	for i, call := range c.made[:len(c.made)-1] {
		reserved := reservedAt(i + 1)
		switch call {
		case "MapPage":
			n += int((reservedAt(i+2) - reserved) / page)
		case "CreatePage": // there is memory for some pages, but not for all
			n += int((c.from.Memory-reserved)/page) + 1
		}
	}
	return n
}

// noMemory is a driver without memory, at the nth attempt of a malloc.
func noMemory(from *model.State, nth int) spec.FaultSpec {
	f := spec.FaultSpec{Call: "Malloc", Nth: nth, Error: spec.FaultOutOfMemory}
	if from.Config.ExpandableSegments {
		f.Call = "CreatePage"
	}
	return f
}

// refusedMalloc is a malloc for which the driver has no memory the first times.
func (t *Tracer) refusedMalloc(from *model.State, arguments []int, times int) {
	stream, bytes := spec.Stream(arguments[0]), uint64(arguments[1])
	_, result := from.Malloc(stream, bytes, refusals(times))
	op := trace.Op{Kind: trace.OpMalloc, ID: t.mallocs, Stream: arguments[0], Size: bytes}
	op.Expect.Error = trace.ErrorName(result.Err)
	if result.Err == nil {
		t.live[toUnits(result.Ptr)] = t.mallocs
	}
	t.mallocs++
	for i := range times {
		t.Ops = append(t.Ops, trace.Op{Kind: trace.OpFault, Fault: noMemory(from, i+1)})
	}
	t.Ops = append(t.Ops, op)
}
