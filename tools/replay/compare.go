package replay

import (
	"errors"
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// outcome is what an allocator did in one operation.
type outcome struct {
	err    error
	addr   spec.Ptr          // malloc
	events []spec.TraceEntry // its trace entries

	freed    []int64           // by need_memory callbacks
	restored spec.RestoreDelta // restore

	tree *trace.TreeExpectation // call: what is seen afterwards
}

// comparison holds what one operation, or the end of a trace, was expected to do
// against what was done. Each check returns the first difference of its field, or
// nil.
type comparison struct {
	m    *machine
	op   *trace.Op
	want *trace.Expectation
	got  outcome
}

// compare returns the first difference of an operation, in the order in which a
// reader would look for a cause: whether it failed, what it returned, what it
// did, what that adds up to, and what memory looks like. Something is expected.
func (m *machine) compare(op *trace.Op, got outcome) *Difference {
	c := comparison{m: m, op: op, want: &op.Expect, got: got}
	checks := []func() *Difference{
		c.checkError, c.checkMessage, c.checkAddress, c.checkTree, c.checkTreePool, c.checkEvents, c.checkStats, c.checkLayout,
	}
	for i, check := range checks {
		if d := check(); d != nil {
			m.passed = i
			c.attachLayout(d)
			return d
		}
	}
	return nil
}

// compareEnd compares what is left at the end of a trace: the memory of all
// devices and all statistics of the first one.
func (m *machine) compareEnd(end *trace.End) *Difference {
	c := comparison{m: m, want: &trace.Expectation{Layout: end.Layout}}
	if d := c.checkLayout(); d != nil || end.Stats == nil {
		return d
	}
	stats, d := m.statistics(0)
	if d != nil {
		return d
	}
	for _, key := range statOrder(end.Stats) {
		if m.tolerance.finalHistory && isHistory(key) {
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
	got := trace.ErrorName(c.got.err)
	if c.want.Error == got {
		return nil
	}
	if c.got.err != nil {
		got = fmt.Sprintf("%s (%v)", got, c.got.err)
	}
	return differs("error", orNone(c.want.Error), orNone(got))
}

// checkMessage compares the sizes that an out-of-memory message has.
func (c *comparison) checkMessage() *Difference {
	if !isMessage(c.want.Message) {
		return nil
	}
	var oom *spec.OutOfMemoryError
	if !errors.As(c.got.err, &oom) {
		return differs("message", "a *spec.OutOfMemoryError", fmt.Sprint(c.got.err))
	}
	return c.m.tolerance.compareMessage(c.want.Message, oom)
}

func (c *comparison) checkAddress() *Difference {
	if c.want.Addr == nil || *c.want.Addr == c.got.addr {
		return nil
	}
	return differs("address", c.want.Addr.String(), c.got.addr.String())
}

func (c *comparison) checkEvents() *Difference {
	if c.want.Entries == nil {
		return nil
	}
	want := c.m.tolerance.events(c.op.Kind, c.want.Entries)
	got := c.m.tolerance.events(c.op.Kind, c.got.events)
	same := 0
	for same < len(want) && same < len(got) && want[same] == got[same] {
		same++
	}
	if same == len(want) && same == len(got) {
		c.m.tolerance.meetOrder(c.want.Entries, c.got.events)
		return nil
	}
	return differs("events", eventAt(want, same), eventAt(got, same))
}

// eventAt is the i-th event in words, or says that there is none.
func eventAt(events []spec.TraceEntry, i int) string {
	if i == len(events) {
		return fmt.Sprintf("no more than %d", len(events))
	}
	return fmt.Sprintf("%d. %s", i+1, EntryInWords(events[i]))
}

func (c *comparison) checkStats() *Difference {
	if c.want.Stats == nil {
		return nil
	}
	stats, d := c.m.statistics(c.op.Device)
	if d != nil {
		return d
	}
	for i, key := range c.m.header.StatColumns {
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
	snapshot, err := c.m.allocator.Snapshot()
	if err != nil {
		return differs("layout", "a snapshot", err.Error())
	}
	return compareLayouts(c.m.tolerance.layout(c.want.Layout), c.m.tolerance.layout(trace.Layout(&snapshot)))
}

// attachLayout adds to a difference in something else what the memory looks like.
func (c *comparison) attachLayout(d *Difference) {
	if layout := c.checkLayout(); layout != nil {
		d.LayoutDiff = layout.LayoutDiff
	}
}
