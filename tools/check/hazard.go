package check

import (
	"fmt"
	"strings"

	"gaugeblock/fakegpu"
)

// A hazard in words, and whose fault it is. The program and the allocator each have a
// part. The program tells the allocator which work may still use memory that it frees:
// by recording streams for it, by letting the stream that it was allocated for (or the
// one that the free names) wait for it, or by waiting itself. And work of the next owner
// has to be on the stream that the memory was allocated for, or wait for that. All
// else is the allocator's part.

// reported is a piece of work, and an allocation that should wait for it.
type reported struct {
	line int
	of   *allocation
}

// Party is whose fault something is.
type Party string

// The parties.
const (
	Allocator Party = "allocator"
	Program   Party = "program"
	Unknown   Party = ""
)

// hazard adds a hazard to the result.
func (c *checker) hazard(h fakegpu.Hazard) {
	switch h.Kind {
	case fakegpu.AllocatedTwice:
		c.overlap(h)
	case fakegpu.NoMemory:
		c.noMemory(h)
	case fakegpu.Unordered:
		c.unordered(h)
	case fakegpu.Returned:
		c.returned(h)
	default:
		c.result.add(Violation{Line: c.op.Line, Kind: Hazard, AtFault: Program}, "%s: %s", h.Kind, c.plainly(h))
	}
}

func (c *checker) overlap(h fakegpu.Hazard) {
	earlier, later := tag(h.Earlier), tag(h.Later)
	if earlier == nil || later == nil {
		c.violation(Overlap, "%s", h.Missing)
		return
	}
	c.result.add(Violation{Line: c.op.Line, Kind: Overlap, AtFault: Allocator},
		"%d bytes at %s were allocated while %d bytes at %s, allocated in line %d, were not freed",
		later.bytes, c.pointer(later.ptr), earlier.bytes, c.pointer(earlier.ptr), earlier.line)
}

func (c *checker) noMemory(h fakegpu.Hazard) {
	if a := tag(h.Later); a != nil {
		c.result.add(Violation{Line: c.op.Line, Kind: NoMemory, AtFault: Allocator},
			"%d bytes at %s were allocated, and the driver has not given all of that memory", a.bytes, c.pointer(a.ptr))
		return
	}
	c.violation(NoMemory, "%s", c.plainly(h))
}

// plainly says what a hazard is that concerns one piece of work.
func (c *checker) plainly(h fakegpu.Hazard) string {
	if h.Second == nil {
		return h.Missing
	}
	return fmt.Sprintf("%s %s %d bytes at %s: %s", c.who(h.Second), verb(h.Second), h.Range.Bytes, c.pointer(h.Range.Ptr), h.Missing)
}

func verb(a *fakegpu.Access) string {
	if a.Write {
		return "writes"
	}
	return "reads"
}

// tag is the allocation of a lifetime, nil if there is none.
func tag(l *fakegpu.Lifetime) *allocation {
	if l == nil {
		return nil
	}
	a, _ := l.Tag.(*allocation)
	return a
}

// unordered: two pieces of work are not in order.
func (c *checker) unordered(h fakegpu.Hazard) {
	v := Violation{Line: c.op.Line, Kind: Hazard}
	first, second := tag(&h.First.Lifetime), tag(&h.Second.Lifetime)
	pair := reported{h.First.Line, second}
	if c.reported[pair] && c.options.StreamOrdered {
		return // the allocation was reported, so that all work on it follows from that
	}
	c.reported[pair] = true
	party, why, needed := c.blame(h, first, second)
	v.AtFault = party
	v.detail(fmt.Sprintf("line %d", h.First.Line), c.story(h.First, first))
	if h.Second.Line != h.First.Line {
		v.detail(fmt.Sprintf("line %d", h.Second.Line), c.story(h.Second, second))
	}
	v.detail("memory", fmt.Sprintf("%d bytes at %s", h.Range.Bytes, c.pointer(h.Range.Ptr)))
	if party != Unknown {
		v.detail("at fault", fmt.Sprintf("the %s: %s", party, why))
	}
	v.detail("needed", needed)
	c.result.add(v, "%s does not wait for line %d", c.who(h.Second), h.First.Line)
}

// blame says whose fault it is that two pieces of work are not in order, why, and what
// would have been needed.
func (c *checker) blame(h fakegpu.Hazard, first, second *allocation) (p Party, why, needed string) {
	waiter, awaited := c.place(h.Second), c.place(h.First)
	needed = fmt.Sprintf("%s waits for %s", waiter, awaited)
	switch {
	case first == nil || second == nil, h.First.Graph && h.Second.Graph && h.First.Work == h.Second.Work:
		return Unknown, "", needed
	case h.Second.Ends && first == second:
		return Program, fmt.Sprintf("it frees the memory on %s while %s may still use it", waiter, awaited), needed + " before the free"
	case first == second:
		return Program, "both are work on one allocation", needed
	case first.freed == 0:
		return Allocator, "the memory was allocated twice", "the memory is freed first"
	case !first.told.Covers(h.First.Epoch):
		return c.untold(h, first)
	case h.Second.Host && first.usedBy(h.First): // the host may access what it has been given
		return Allocator, c.knew(h.First, first), "the allocator waits for " + awaited + " before it gives the memory to the host"
	case second.start.Covers(h.First.Epoch):
		owner := c.streamName(second.device, second.on.handle)
		return Program, fmt.Sprintf("the memory was allocated for stream %s, which comes after line %d, and %s does not wait for that",
			owner, h.First.Line, waiter), fmt.Sprintf("%s waits for stream %s", waiter, owner)
	}
	return Allocator, c.knew(h.First, first),
		fmt.Sprintf("the allocator waits for %s before line %d, or makes stream %s wait", awaited, second.line, c.streamName(second.device, second.on.handle))
}

// untold: the program has freed memory and has not said which work uses it.
func (c *checker) untold(h fakegpu.Hazard, first *allocation) (p Party, why, needed string) {
	awaited, owner := c.place(h.First), c.streamName(first.device, first.on.handle)
	if c.options.StreamOrdered {
		return Program, fmt.Sprintf("the free in line %d does not wait for %s", first.freed, awaited), "the stream of the free waits for " + awaited
	}
	if h.First.Host {
		return Program, fmt.Sprintf("the free in line %d does not come after the access", first.freed), "the thread frees the memory itself, or tells the one that does"
	}
	return Program, fmt.Sprintf("nothing told the allocator of %s before the free in line %d", awaited, first.freed),
		fmt.Sprintf("record_stream for %s, or stream %s waits for it, before the free", awaited, owner)
}

// knew says how the allocator could know of work on memory that was freed.
func (c *checker) knew(work *fakegpu.Access, a *allocation) string {
	for _, u := range a.recorded() {
		if u.device == work.Device && u.on.handle == work.Stream && !work.Host {
			return fmt.Sprintf("%s was recorded for the memory in line %d", c.place(work), u.line)
		}
	}
	if work.Device == a.device && work.Stream == a.on.handle && !work.Host {
		return fmt.Sprintf("the memory was allocated for %s, and freed in line %d", c.place(work), a.freed)
	}
	return fmt.Sprintf("what was freed in line %d waits for %s", a.freed, c.place(work))
}

// usedBy reports whether the stream of a piece of work was recorded for the memory.
func (a *allocation) usedBy(work *fakegpu.Access) bool {
	return !work.Host && a.uses != nil && a.uses.met[deviceStream{work.Device, work.Stream}]
}

// returned: memory went back to the driver, and the host has not waited for work on it.
func (c *checker) returned(h fakegpu.Hazard) {
	v := Violation{Line: c.op.Line, Kind: Hazard, AtFault: Allocator}
	a := tag(&h.First.Lifetime)
	if a == nil {
		v.AtFault = Unknown
	}
	v.detail(fmt.Sprintf("line %d", h.First.Line), c.story(h.First, a))
	v.detail("memory", fmt.Sprintf("%d bytes at %s", h.Range.Bytes, c.pointer(h.Range.Ptr)))
	needed := fmt.Sprintf("the host waits for %s before the memory goes back", c.place(h.First))
	switch {
	case a != nil && a.freed > 0 && !a.told.Covers(h.First.Epoch):
		_, why, instead := c.untold(h, a)
		v.AtFault = Program
		v.detail("at fault", "the program: "+why)
		needed = instead
	case a != nil:
		v.detail("at fault", "the allocator: it has not waited for "+c.place(h.First))
	}
	v.detail("needed", needed)
	c.result.add(v, "memory goes back to the driver, and line %d may still use it", h.First.Line)
}

// place is where work is done: a stream, or a host thread.
func (c *checker) place(a *fakegpu.Access) string {
	if a.Host {
		return fmt.Sprintf("the host's access in line %d", a.Line)
	}
	return "stream " + c.streamName(a.Device, a.Stream)
}

// who is a piece of work.
func (c *checker) who(a *fakegpu.Access) string {
	name := a.Kind
	switch {
	case a.Name != "" && (c.given.table() || c.options.StreamOrdered && (a.Name == "allocate" || a.Name == "free")):
		name = shorten(a.Name) // an action of a table, or what is work with --stream-ordered
	case a.Name != "":
		name += fmt.Sprintf(" %q", shorten(a.Name))
	}
	if a.Graph {
		name += " of a graph"
	}
	if a.Host {
		return name
	}
	return name + " on stream " + c.streamName(a.Device, a.Stream)
}

// story is a piece of work and the life of its memory.
func (c *checker) story(work *fakegpu.Access, a *allocation) string {
	text := c.who(work)
	if a == nil {
		return text
	}
	text += fmt.Sprintf(", allocation of line %d (stream %s", a.line, c.streamName(a.device, a.on.handle))
	if a.freed > 0 {
		text += fmt.Sprintf(", freed in line %d", a.freed)
	}
	return text + ")"
}

// shorten cuts the name of a kernel, which may be as long as C++ makes it.
func shorten(name string) string {
	const most = 40
	if runes := []rune(name); len(runes) > most {
		return strings.TrimSpace(string(runes[:most-3])) + "..."
	}
	return name
}
