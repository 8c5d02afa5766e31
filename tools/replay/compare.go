package replay

import (
	"errors"
	"fmt"

	"gaugeblock/conformance/perform"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// comparison holds what one operation, or the end of a trace, was expected to do
// against what was done. Each check returns the first difference of its field, or
// nil.
type comparison struct {
	run  *run
	op   *trace.Op
	want *trace.Expectation
	got  *perform.Result
}

// compare returns the first difference of an operation, in the order in which a
// reader would look for a cause: whether it failed, what it returned, what it
// did, what that adds up to, and what memory looks like. Something is expected.
func (r *run) compare(op *trace.Op, got *perform.Result) *Difference {
	c := comparison{run: r, op: op, want: &op.Expect, got: got}
	checks := []func() *Difference{
		c.checkError, c.checkMessage, c.checkAddress, c.checkTree, c.checkTreePool, c.checkEvents, c.checkStats, c.checkLayout,
	}
	for i, check := range checks {
		if d := check(); d != nil {
			r.passed = i
			c.attachLayout(d)
			return d
		}
	}
	return nil
}

// compareEnd compares what is left at the end of a trace: the memory of all
// devices and all statistics of the first one.
func (r *run) compareEnd(end *trace.End) *Difference {
	c := comparison{run: r, want: &trace.Expectation{Layout: end.Layout}}
	if d := c.checkLayout(); d != nil || end.Stats == nil {
		return d
	}
	stats, d := r.statistics(0)
	if d != nil {
		return d
	}
	for _, key := range statOrder(end.Stats) {
		if r.tolerance.finalHistory && isHistory(key) {
			continue
		}
		if d := stats.compare(key, end.Stats[key]); d != nil {
			return d
		}
	}
	return nil
}

// differs makes a difference of two values in words.
func differs(field, want, got string) *Difference {
	return &Difference{Field: field, Expected: want, Got: got}
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// checkError compares how the operation failed, if it did.
func (c *comparison) checkError() *Difference {
	got := trace.ErrorName(c.got.Err)
	if c.want.Error == got {
		return nil
	}
	if c.got.Err != nil {
		got = fmt.Sprintf("%s (%v)", got, c.got.Err)
	}
	return differs("error", orNone(c.want.Error), orNone(got))
}

// checkMessage compares the sizes that an out-of-memory message has.
func (c *comparison) checkMessage() *Difference {
	if !isMessage(c.want.Message) {
		return nil
	}
	var oom *spec.OutOfMemoryError
	if !errors.As(c.got.Err, &oom) {
		return differs("message", "a *spec.OutOfMemoryError", fmt.Sprint(c.got.Err))
	}
	return c.run.tolerance.compareMessage(c.want.Message, oom)
}

func (c *comparison) checkAddress() *Difference {
	if c.want.Addr == nil || *c.want.Addr == c.got.Ptr {
		return nil
	}
	return differs("address", c.want.Addr.String(), c.got.Ptr.String())
}

func (c *comparison) checkEvents() *Difference {
	if c.want.Entries == nil {
		return nil
	}
	want := c.run.tolerance.events(c.op.Kind, c.want.Entries)
	got := c.run.tolerance.events(c.op.Kind, c.got.Entries)
	same := 0
	for same < len(want) && same < len(got) && want[same] == got[same] {
		same++
	}
	if same == len(want) && same == len(got) {
		c.run.tolerance.meetOrder(c.want.Entries, c.got.Entries)
		return nil
	}
	return differs("events", eventAt(want, same), eventAt(got, same))
}

// eventAt is the i-th event in words, or says that there is none.
func eventAt(events []spec.TraceEntry, i int) string {
	if i == len(events) {
		return fmt.Sprintf("no more than %d", len(events))
	}
	return fmt.Sprintf("%d. %s", i+1, trace.EntryInWords(events[i]))
}

func (c *comparison) checkStats() *Difference {
	if c.want.Stats == nil {
		return nil
	}
	stats, d := c.run.statistics(c.op.Device)
	if d != nil {
		return d
	}
	for i, key := range c.run.header.StatColumns {
		if d := stats.compare(key, c.want.Stats[i]); d != nil {
			return d
		}
	}
	return nil
}

func (c *comparison) checkLayout() *Difference {
	if c.want.Layout == nil {
		return nil
	}
	snapshot, err := c.run.player.Allocator().Snapshot()
	if err != nil {
		return differs("layout", "a snapshot", err.Error())
	}
	return compareLayouts(c.run.tolerance.layout(c.want.Layout), c.run.tolerance.layout(trace.Layout(&snapshot)))
}

// attachLayout adds to a difference in something else what the memory looks like.
func (c *comparison) attachLayout(d *Difference) {
	if layout := c.checkLayout(); layout != nil {
		d.LayoutDiff = layout.LayoutDiff
	}
}
