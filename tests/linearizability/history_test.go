package linearizability

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"gaugeblock/internal/sizes"
	"gaugeblock/model"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// A Call is an operation that was done, and its outcome.
type Call struct {
	id         int // of all calls of the run
	Thread     int // from 0; mainThread before the threads begin and after they have ended
	Op         Op
	Text       string   // the operation in the words of the program
	Ptr        spec.Ptr // free, record_stream: the address of the allocation
	Out        model.Outcome
	Answer     any  // of a query that the model has no outcome for
	Made       any  // a checkpoint, opened memory
	used       made // what the operation's name stood for
	Freed      bool // malloc: a callback freed something
	Begin, End int64
}

// A History is the calls of one run of a program.
type History struct {
	Setup    Setup
	Program  Program
	Schedule []int // which thread ran, step by step; nil without the scheduler
	// Preemptions is how often another thread was chosen although the one that ran could go on.
	Preemptions int
	Calls       []Call // by Begin
}

// Command is an explore command of testdata that runs the same schedule of the same program
// again. Without the scheduler there is no schedule.
func (h *History) Command() string {
	command := "explore " + h.Setup.String()
	if h.Schedule != nil {
		command += " schedule=(" + strings.Join(FormatSchedule(h.Schedule), ",") + ")"
	}
	return command + "\n" + h.Program.String()
}

// callEvent is the beginning or the end of a call.
type callEvent struct {
	at   int64
	call *Call
	end  bool
}

// callEvents lists the beginnings and ends in order of time.
func (h *History) callEvents() []callEvent {
	var list []callEvent
	for i := range h.Calls {
		c := &h.Calls[i]
		list = append(list, callEvent{c.Begin, c, false}, callEvent{c.End, c, true})
	}
	slices.SortStableFunc(list, func(a, b callEvent) int { return cmp.Compare(a.at, b.at) })
	return list
}

// sequential reports whether no two calls overlap.
func (h *History) sequential() bool {
	for i := 1; i < len(h.Calls); i++ {
		if h.Calls[i].Begin < h.Calls[i-1].End {
			return false
		}
	}
	return true
}

// String has a line for each beginning and end; a call with no other event between them has
// one line.
func (h *History) String() string {
	var text strings.Builder
	list := h.callEvents()
	for i := 0; i < len(list); i++ {
		m := list[i]
		indent := strings.Repeat("    ", m.call.Thread+1)
		switch {
		case !m.end && list[i+1].call == m.call:
			fmt.Fprintf(&text, "%s%s %v: %s\n", indent, threadName(m.call.Thread), m.call.Text, m.call.result())
			i++
		case !m.end:
			fmt.Fprintf(&text, "%s%s %v...\n", indent, threadName(m.call.Thread), m.call.Text)
		default:
			fmt.Fprintf(&text, "%s%s ...%v: %s\n", indent, threadName(m.call.Thread), m.call.Text, m.call.result())
		}
	}
	return text.String()
}

// addressWindow is the size of the address range of each device.
const addressWindow = 1 << 50

// formatAddress writes an address as the offset in the device's address range.
func formatAddress(p spec.Ptr) string {
	if p == 0 {
		return "null"
	}
	return "at " + sizes.Format(uint64(p)%addressWindow)
}

// result describes the outcome of a call.
func (c *Call) result() string {
	switch {
	case c.Out.Err != nil && trace.ErrorName(c.Out.Err) == trace.ErrorOOM:
		return "out of memory"
	case c.Out.Err != nil:
		return trace.ErrorName(c.Out.Err)
	case kinds[c.Op.Kind].result != nil:
		return kinds[c.Op.Kind].result(c)
	}
	return "done"
}

// formatLayout describes segments and their blocks.
func formatLayout(layout []spec.Segment) string {
	var text []string
	for _, g := range layout {
		segment := formatAddress(g.Address)
		for _, b := range g.Blocks {
			segment += fmt.Sprintf(" [%s %v]", sizes.Format(b.Size), b.State)
		}
		text = append(text, segment)
	}
	if len(text) == 0 {
		return "no memory"
	}
	return strings.Join(text, ", ")
}

// key is equal for two histories of a program only if the outcomes of all calls are equal,
// and the same calls had ended when others began, which is all that Check uses. The order
// of consecutive beginnings does not matter, nor that of consecutive ends.
func (h *History) key() string {
	var key []byte
	list := h.callEvents()
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].end == list[0].end {
			n++
		}
		slices.SortStableFunc(list[:n], func(a, b callEvent) int { return cmp.Compare(a.call.Thread, b.call.Thread) })
		for _, m := range list[:n] {
			key = m.appendKey(key)
		}
		list = list[n:]
	}
	return string(key)
}

func (m callEvent) appendKey(key []byte) []byte {
	number := func(n uint64) { key = binary.AppendUvarint(key, n) }
	number(uint64(m.call.Thread + 1))
	if !m.end {
		key = append(key, m.call.Op.Kind...)
		number(uint64(m.call.Ptr))
		return key
	}
	out := &m.call.Out
	number(uint64(out.Ptr))
	if out.Err != nil {
		key = append(key, out.Err.Error()...)
	}
	key = fmt.Append(key, m.call.Answer)
	if out.Stats != nil {
		// whole numbers only: cannot fail
		key, _ = binary.Append(key, binary.LittleEndian, out.Stats)
	}
	for i := range out.Layout {
		g := &out.Layout[i]
		number(uint64(g.Address))
		number(g.TotalSize)
		number(uint64(g.Stream))
		for _, b := range g.Blocks {
			number(b.Size)
			number(b.RequestedSize)
			number(uint64(b.State))
		}
	}
	return key
}
