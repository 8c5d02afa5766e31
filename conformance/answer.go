package conformance

import (
	"errors"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// checkAnswer compares the answer to an operation with the contract: what a program may do
// succeeds, and what it may not do is refused with an error of the type that the contract
// names. An out-of-memory error must be true.
func (t *Trial) checkAnswer(op *trace.Op, out *perform.Result) *Failure {
	got := trace.ErrorName(out.Err)
	want := op.Expect.Error
	switch {
	case got == want || out.Skipped:
		if checkSuccess := kindOf(op.Kind).checkSuccess; checkSuccess != nil && out.Err == nil {
			return checkSuccess(t, op, out)
		}
		return nil
	case want != "":
		return t.fail(probeAccepted+string(op.Kind), "%s should be refused as %s, the answer is %q (%v)", op.Kind, want, got, out.Err)
	case t.driverError(out.Err):
		return nil
	case kindOf(op.Kind).mayFail != nil:
		if explained, f := kindOf(op.Kind).mayFail(t, op, out.Err); explained {
			return f
		}
	}
	return t.fail(classLegal(op.Kind), "%s failed: %v", op.Kind, out.Err)
}

// classLegal is that of operations which had to succeed.
func classLegal(kind trace.OpKind) string { return "legal " + string(kind) + " refused" }

// alignment is what addresses have to be multiples of.
func (t *Trial) alignment() uint64 {
	if t.options.Align > 0 {
		return t.options.Align
	}
	return t.header.Geometry.MinBlock
}

// checkOutOfMemory looks whether a request had to fail: the limit or the device has no room for
// the segment. Under expandable segments the statistics do not show that, since pages are
// larger than what is missing. And while requests are routed to pools, the allocator does not
// use released oversize blocks that were too small together.
func (t *Trial) checkOutOfMemory(op *trace.Op, err error) *Failure {
	var oom *spec.OutOfMemoryError
	if !errors.As(err, &oom) {
		return t.fail("out of memory", "the error is no *spec.OutOfMemoryError: %v", err)
	}
	if oom.SegmentSize == 0 && op.Size < t.header.Geometry.MaxRequest {
		return t.checkUnexplained(op, err)
	}
	if oom.SegmentSize == 0 || t.faulted || t.expandable() {
		return nil
	}
	if t.splitLimited() && t.program.routed(oom.Device) {
		return nil
	}
	stats, failed := t.player.Allocator().Stats(oom.Device)
	if errors.Is(failed, spec.ErrNotSupported) {
		if oom.SegmentSize <= oom.DeviceFree && !oom.Limited {
			return t.fail(classWithMemoryLeft+whatFails(op, err), "%v", err)
		}
		return nil
	}
	if failed != nil {
		return t.fail(classUnseen, "%v", failed)
	}
	reserved := uint64(stats.ReservedBytes[spec.Aggregate].Current)
	if oom.SegmentSize <= oom.DeviceFree && !(oom.Limited && reserved+oom.SegmentSize > oom.Limit) {
		return t.fail(classWithMemoryLeft+whatFails(op, err), "%v (%d bytes are reserved)", err, reserved)
	}
	if oom.Allocated+oom.Unallocated != reserved {
		return t.fail("out of memory statistics", "%d allocated and %d unallocated are not the %d reserved", oom.Allocated, oom.Unallocated, reserved)
	}
	return nil
}

// checkUnexplained looks at a request that failed for lack of memory with an error that does
// not say what could not be obtained. The failure is explained if the driver refused a call for
// memory during the request, or has less free than was requested, or if a limit is set.
func (t *Trial) checkUnexplained(op *trace.Op, err error) *Failure {
	if t.faulted || t.limited(op.Device) {
		return nil
	}
	if t.meter.refused > t.refusals {
		return t.checkCached(op)
	}
	free, _, failed := t.player.GPU().MemInfo(op.Device)
	if failed != nil || free < op.Size {
		return nil
	}
	return t.fail(classWithMemoryLeft+whatFails(op, err), "a request of %d bytes failed, the driver has %d bytes free and has refused nothing: %v",
		op.Size, free, err)
}

// Classes of requests that fail although there is memory. whatFails adds the reason, so that
// different faults are different classes.
const (
	classWithMemoryLeft   = "out of memory with memory left "
	classWithMemoryCached = "out of memory with memory cached"
)

// whatFails tells requests apart that fail for different reasons as a rule.
func whatFails(op *trace.Op, err error) string {
	const large = 1 << 31
	switch {
	case op.Size >= large:
		return "(large)"
	case op.Device > 0:
		return "(other device)"
	case op.Thread > 0:
		return "(thread)"
	case errors.Is(err, spec.ErrDriverOutOfMemory):
		return "(driver)"
	}
	return "(small)"
}

// checkCached looks whether the allocator could have returned enough memory: pieces of the driver's
// of which nothing is allocated. Twice as much as was requested, and the largest buffer or step of a pool, are
// enough for whatever it rounds up to.
func (t *Trial) checkCached(op *trace.Op) *Failure {
	if op.Device != 0 || t.header.Devices > 1 { // the meter does not tell devices apart
		return nil
	}
	free, _, err := t.player.GPU().MemInfo(op.Device)
	if err != nil {
		return nil
	}
	cached := t.meter.without(t.program.memory)
	if free+cached < 2*op.Size+t.largestStep() {
		return nil
	}
	return t.fail(classWithMemoryCached, "a request of %d bytes failed when the driver had refused memory; %d bytes of the driver's are free, and %d more are in pieces of which nothing is allocated",
		op.Size, free, cached)
}

// limited reports whether the allocator has a limit on a device.
func (t *Trial) limited(dev spec.Device) bool {
	limiter, able := t.player.Allocator().(spec.MemoryLimiter)
	if !able || t.options.limited {
		return t.options.limited
	}
	fraction, err := limiter.MemoryFraction(dev)
	return err != nil || fraction < 1
}

// splitLimited reports whether there are oversize blocks, or it is unknown.
func (t *Trial) splitLimited() bool {
	configurer, able := t.player.Allocator().(spec.Configurer)
	return !able || configurer.Config().MaxSplitSize != spec.Unlimited
}

// expandable reports whether expandable segments are on, or unknown.
func (t *Trial) expandable() bool {
	if configurer, able := t.player.Allocator().(spec.Configurer); able {
		return configurer.Config().ExpandableSegments
	}
	_, able := t.player.Allocator().(spec.ExpandableSegments)
	return able
}
