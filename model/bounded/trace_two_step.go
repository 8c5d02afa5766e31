package bounded

import (
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A malloc that releases the lock in a trace: each of its steps is a malloc operation of its
// thread, with one id. A step with which the malloc has not ended has the error ErrorOther.

// twoStep appends the operation of a step of a malloc.
func (t *Tracer) twoStep(from *model.State, name string, arguments []int) bool {
	if t.forReplay {
		return false // a replay performs a malloc in one go
	}
	thread := arguments[0]
	op := trace.Op{Kind: trace.OpMalloc, Thread: spec.Thread(thread)}
	results := model.DriverResults{LowestFrom: AddressBase}
	var r model.Result
	var isDone bool
	switch name {
	case "MallocSearch":
		op.ID, op.Stream, op.Size = t.mallocs, arguments[1], uint64(arguments[2])
		t.mallocs++
		_, r, isDone = from.MallocSearch(thread, spec.Stream(op.Stream), op.Size, results)
	case "DriverMalloc", "MallocResume":
		op = t.underWay[thread]
		_, r, isDone = from.MallocResume(thread, results)
	default:
		return false
	}
	t.underWay[thread] = op
	switch {
	case !isDone:
		op.Expect.Error = trace.ErrorOther
	case r.Err == nil:
		t.live[toUnits(r.Ptr)] = op.ID
	default:
		op.Expect.Error = trace.ErrorName(r.Err)
	}
	t.Ops = append(t.Ops, op)
	return true
}
