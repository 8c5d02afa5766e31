package conformance

import (
	"gaugeblock/conformance/perform"
	"gaugeblock/spec/invariant"
	"gaugeblock/spec/trace"
)

// kind says how programs use a kind of operation. The entries stand with what belongs to
// them in kinds_memory.go, kinds_pools.go, kinds_sharing.go, kinds_streams.go,
// kinds_capture.go and kinds_device.go. How often a kind occurs stands there too, in lists
// of shares that area_table.go makes areas of.
type kind struct {
	// propose makes up an operation. It need not be one that the program may perform, and may
	// be of another kind, if that has to come first.
	propose func(g *Generator) trace.Op
	// notProposed: why there is no propose.
	notProposed string

	// allowed reports whether the program can sensibly perform the operation now, and
	// fills in what follows from the program's state.
	allowed func(p *Program, op *trace.Op) bool
	// did does to the program's state what an operation that succeeded does.
	did func(p *Program, op *trace.Op, out *perform.Result)
	// failed does so for one that failed though it was legal; nil: it changed nothing.
	failed func(p *Program, op *trace.Op, out *perform.Result)
	// failsForGood: an operation that failed is not tried again at the program's end.
	failsForGood bool
	// misuse is how the operation can be wrong; nil: in no way that a trace can have.
	misuse *misuse
	// atEnd puts away, at the program's end, what the operation has made.
	atEnd ending

	// What a trial does with it beside what it does with all. Any of these may be nil.

	// before happens before it is performed.
	before func(t *Trial, op *trace.Op)
	// ends tells the device that the life of memory is about to end; undo takes that back.
	ends func(l *Lifetimes, op *trace.Op) (undo func())
	// begins tells the device that memory has been allocated, or that its use was recorded.
	begins func(l *Lifetimes, op *trace.Op, out *perform.Result)
	// checkSuccess looks at the answer of one that succeeded.
	checkSuccess func(t *Trial, op *trace.Op, out *perform.Result) *Failure
	// mayFail reports whether there is an explanation for the failure of a legal one,
	// and what is wrong with it.
	mayFail func(t *Trial, op *trace.Op, err error) (explained bool, f *Failure)
	// after looks at what one that succeeded has changed, before the
	// program's state changes.
	after func(t *Trial, op *trace.Op, out *perform.Result) *Failure
	// checksAll: everything is looked at after one that succeeded.
	checksAll bool
	// history changes the outcome that the history gets.
	history func(t *Trial, out *invariant.Outcome)
	// callsDriver: the program performs it by a driver call that allocators make as well, so
	// that a fault can hit the program instead of the allocator.
	callsDriver bool
}

// misuse is what a program does that has lost track of its objects. It must be refused with an
// error of the right type, and must change nothing: no statistic, no segment. Operations on
// memory that is not allocated are not here, since a trace cannot name such memory; probe.go
// tries them beside the program.
type misuse struct {
	// propose makes up one that may be wrong now.
	propose func(g *Generator) trace.Op
	// wrong reports whether it is.
	wrong func(p *Program, op *trace.Op) bool
	// answer is the name of the error, see trace.ErrorName.
	answer string
}

// kinds has an entry for every kind.
var kinds = func() map[trace.OpKind]*kind {
	all := map[trace.OpKind]*kind{}
	for _, group := range []map[trace.OpKind]kind{
		memoryKinds, poolKinds, sharingKinds, streamKinds, hostKinds, captureKinds, deviceKinds, contractKinds, inPlaceKinds,
	} {
		for name, k := range group {
			all[name] = &k
		}
	}
	for _, name := range trace.OpKinds() {
		if name.Target() == trace.TargetGraphTrees {
			all[name] = &kind{notProposed: "calls of graph trees have programs of their own (tests/graphtree)"}
		}
	}
	return all
}()

// kindOf is the entry of a kind. It is empty if there is none.
func kindOf(name trace.OpKind) *kind {
	if k, listed := kinds[name]; listed {
		return k
	}
	return &unlisted
}

var unlisted kind

// kind is kindOf for a program, whose operations are asked about several times one after the other.
func (p *Program) kind(name trace.OpKind) *kind {
	if p.latest.name != name {
		p.latest.name, p.latest.kind = name, kindOf(name)
	}
	return p.latest.kind
}

// Prepare reports whether the program can sensibly perform the operation now, and
// fills in what follows from the program's state: the limit in bytes, the lists of
// a restore. An operation with an expected error is one of misuse; of those it
// reports whether they are wrong now.
func (p *Program) Prepare(op *trace.Op) bool {
	if p.unrouted != nil && op.Kind != trace.OpPoolBegin {
		return false
	}
	if op.Stream >= len(p.header.Streams) || op.On >= len(p.header.Streams) || p.slot(op.Device, op.Stream) < 0 {
		return false
	}
	if p.spoils && p.addsToSpoiled(op) {
		return false
	}
	k := p.kind(op.Kind)
	if op.Expect.Error != "" {
		return k.misuse != nil && k.misuse.wrong(p, op)
	}
	return k.allowed != nil && k.allowed(p, op)
}

// Did changes the program's state by an operation that was performed. One that failed
// changed nothing, except where its kind says so.
func (p *Program) Did(op *trace.Op, out *perform.Result) {
	for _, id := range out.Freed {
		p.forget(id)
	}
	k := p.kind(op.Kind)
	switch {
	case out.Err != nil && op.Expect.Error == "" && k.failed != nil:
		k.failed(p, op, out)
	case out.Err == nil && !out.Skipped && k.did != nil:
		k.did(p, op, out)
	}
}

// always is the rule of what may be performed at any time.
func always(*Program, *trace.Op) bool { return true }

// nothing is what an operation does that changes nothing in the program.
func nothing(*Program, *trace.Op, *perform.Result) {}
