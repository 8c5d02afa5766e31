package check

import (
	"fmt"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// lockstep is the reference doing the same program. It gets the addresses that the log's
// allocator got from its driver, so that it can return the same ones. What is compared
// is what both decide: whether the driver is asked or given anything, and for how many
// bytes; whether the request succeeds; and where the memory lies.
type lockstep struct {
	player *perform.Player
	calls  bool // the log has had driver calls
}

func newLockstep(h *trace.Header, factory perform.Factory) (*lockstep, error) {
	player, err := perform.New(h, factory)
	if err != nil {
		return nil, err
	}
	return &lockstep{player: player}, nil
}

// compare lets the reference do an operation too. After the first departure the two are
// in different states, and no more is compared.
func (c *checker) compare(op *trace.Op) {
	l := c.lockstep
	if op.Kind == "" {
		return
	}
	l.calls = l.calls || c.driver.recorded
	out := l.player.Perform(op)
	if op.Kind == trace.OpMalloc && op.Size > 0 && !l.calls {
		c.note("nothing is compared with the reference, since the log has no driver calls")
		c.lockstep = nil
		return
	}
	if op.Kind.Target() == trace.TargetDevice {
		return // what the device makes of it is looked at already
	}
	ours, theirs, same := compareAnswers(op, &out)
	if same {
		return
	}
	c.violation(Departure, "%s: the log says %s, the reference %s", op.InWords(), ours, theirs)
	c.lockstep = nil
}

// leaveReference ends the comparison: what is wrong here the reference cannot be asked to
// do.
func (c *checker) leaveReference() {
	if c.lockstep != nil {
		c.lockstep = nil
		c.note("compared with the reference as far as line %d", c.op.Line-1)
	}
}

// compareAnswers puts the first difference into words.
func compareAnswers(op *trace.Op, out *perform.Result) (log, reference string, same bool) {
	if op.Expect.Entries != nil {
		recorded, did := driverCalls(op.Expect.Entries), driverCalls(out.Entries)
		for i := range max(len(recorded), len(did)) {
			if a, b := callInWords(recorded, i), callInWords(did, i); a != b {
				return a, b, false
			}
		}
	}
	if failed := trace.ErrorName(out.Err); failed != op.Expect.Error {
		return outcome(op.Expect.Error), outcome(failed), false
	}
	if op.Expect.Addr != nil && *op.Expect.Addr != out.Ptr {
		return "it is at " + op.Expect.Addr.String(), "at " + out.Ptr.String(), false
	}
	return "", "", true
}

func outcome(failure string) string {
	if failure == "" {
		return "it succeeds"
	}
	return "it fails (" + failure + ")"
}

// driverCalls are the trace entries that are about the driver.
func driverCalls(events []spec.TraceEntry) []spec.TraceEntry {
	var calls []spec.TraceEntry
	for _, e := range events {
		switch e.Action {
		case spec.ActionSegmentAlloc, spec.ActionSegmentFree, spec.ActionSegmentMap, spec.ActionSegmentUnmap:
			calls = append(calls, e)
		}
	}
	return calls
}

func callInWords(calls []spec.TraceEntry, i int) string {
	if i >= len(calls) {
		return "the driver is asked for no more"
	}
	e := calls[i]
	switch e.Action {
	case spec.ActionSegmentAlloc:
		return fmt.Sprintf("the driver is asked for %d bytes (%v)", e.Size, e.Addr)
	case spec.ActionSegmentFree:
		return fmt.Sprintf("%v is returned to the driver", e.Addr)
	}
	return fmt.Sprintf("%v %d bytes at %v", e.Action, e.Size, e.Addr)
}
