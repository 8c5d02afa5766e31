package conformance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// Exact: the allocator decides as another one does. Both run the same program on equal devices,
// in lockstep. Equal devices choose equal addresses for equal requests, so two allocators that
// ask the driver for the same things, and cut what they get in the same way, return the same
// addresses. After each operation these are compared, as far as both can be seen: whether it
// failed and how, the address, the trace entries and the statistics; at intervals the whole
// memory. Time and the words of error messages are not compared.

// departure is the class of failures of this kind.
const departure = "departs from the reference"

// checkLockstep lets the other allocator do the operation as well. After the first
// difference the two are in different states, and nothing more can be compared.
func (t *Trial) checkLockstep(op *trace.Op, out *perform.Result) *Failure {
	if t.lockstep == nil {
		return nil
	}
	theirs := t.lockstep.Perform(op)
	what, ours, other := t.compareAnswers(out, &theirs)
	if what == "" {
		what, ours, other = t.compareFigures(op.Device)
	}
	if what == "" && t.options.Every > 0 && t.checked%t.options.Every == 0 {
		what, ours, other = t.compareMemory()
	}
	if what == "" {
		return nil
	}
	t.lockstep = nil
	return t.fail(departure, "%s: %s: %s here, %s there", op.InWords(), what, ours, other)
}

// compareAnswers names what is different, "" if nothing is.
func (t *Trial) compareAnswers(ours, theirs *perform.Result) (what, our, their string) {
	if a, b := trace.ErrorName(ours.Err), trace.ErrorName(theirs.Err); a != b {
		return "the outcome", errorInWords(ours.Err), errorInWords(theirs.Err)
	}
	if ours.Ptr != theirs.Ptr {
		return "the address", ours.Ptr.String(), theirs.Ptr.String()
	}
	if !observable(t.player) || !observable(t.lockstep) {
		return "", "", ""
	}
	for i := range max(len(ours.Entries), len(theirs.Entries)) {
		if a, b := entry(ours.Entries, i), entry(theirs.Entries, i); a != b {
			return fmt.Sprintf("what it did, %d", i+1), a, b
		}
	}
	return "", "", ""
}

func observable(p *perform.Player) bool {
	_, able := p.Allocator().(spec.Observable)
	return able
}

func errorInWords(err error) string {
	if err == nil {
		return "success"
	}
	return fmt.Sprintf("%s (%v)", trace.ErrorName(err), err)
}

// entry is a trace entry in words.
func entry(events []spec.TraceEntry, i int) string {
	if i >= len(events) {
		return "nothing"
	}
	e := events[i]
	return fmt.Sprintf("%v %v %d bytes stream %v", e.Action, e.Addr, e.Size, e.Stream)
}

func (t *Trial) compareFigures(dev spec.Device) (what, our, their string) {
	a, failed := t.player.Allocator().Stats(dev)
	b, otherFailed := t.lockstep.Allocator().Stats(dev)
	if failed != nil || otherFailed != nil || a == b {
		return "", "", ""
	}
	var theirs []int64
	b.Each(func(_ string, value int64) { theirs = append(theirs, value) })
	i := 0
	a.Each(func(key string, value int64) {
		if what == "" && value != theirs[i] {
			what, our, their = key, fmt.Sprint(value), fmt.Sprint(theirs[i])
		}
		i++
	})
	return what, our, their
}

func (t *Trial) compareMemory() (what, our, their string) {
	a, failed := t.player.Allocator().Snapshot()
	b, otherFailed := t.lockstep.Allocator().Snapshot()
	if failed != nil || otherFailed != nil {
		return "", "", ""
	}
	ours, theirs := trace.Layout(&a), trace.Layout(&b)
	i := slices.IndexFunc(ours, func(s spec.Segment) bool {
		return !slices.ContainsFunc(theirs, func(o spec.Segment) bool { return reflect.DeepEqual(s, o) })
	})
	switch {
	case i >= 0:
		return fmt.Sprintf("the segment at %v", ours[i].Address), strings.Join(trace.LayoutInLines(ours[i:i+1]), "; "), "no such one"
	case len(ours) != len(theirs):
		return "the segments", fmt.Sprint(len(ours)), fmt.Sprint(len(theirs))
	}
	return "", "", ""
}
