package fakegpu

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// HazardKind says what is wrong.
type HazardKind uint8

const (
	// Unordered: two pieces of work touch the same bytes in two different lifetimes of
	// them, at least one writes, and nothing makes the later one wait for the
	// earlier. This is what an allocator that reuses memory too early does to its
	// users.
	Unordered HazardKind = iota
	// NotAllocated: work was launched on managed memory that was not allocated at that
	// time: freed, or never allocated.
	NotAllocated
	// NoMemory: work was launched, or memory allocated, where the process had no
	// memory, or none that the device may touch.
	NoMemory
	// Returned: memory went back to the driver while work may still be using it.
	Returned
	// Outlived: a graph was launched after its memory had been freed, returned to
	// the driver, or given to an owner outside of captures in the same pool.
	Outlived
	// AllocatedTwice: memory was allocated whose earlier lifetime had not ended.
	AllocatedTwice
)

var hazardNames = [...]string{"unordered", "not allocated", "no memory", "returned", "outlived", "allocated twice"}

// String is the kind's name.
func (k HazardKind) String() string { return hazardNames[k] }

// A Hazard is a use of memory that is right only by luck, or not at all.
type Hazard struct {
	Kind  HazardKind
	Range spec.Range // the bytes in question

	// First is the earlier access of an Unordered pair, the one that may still be
	// under way when memory is Returned, and the last one that is remembered of
	// memory that is NotAllocated, or nil.
	First *Access
	// Second is the access that is wrong, or the later of a pair; nil for Returned
	// and AllocatedTwice.
	Second *Access

	Missing string // what there should have been, in words

	Earlier, Later *Lifetime // AllocatedTwice; of NoMemory only Later, if it is memory that was allocated
}

// Access is what a piece of work does to some bytes.
type Access struct {
	Work     uint64              // numbers work over the whole machine; of a node, that of the launch; 0 for ReadBack
	Kind     string              // "kernel", "fill", "copy", "read back"
	Name     string              // of a kernel
	Graph    bool                // the work is a node of a graph
	Host     bool                // it is an access of a host thread; no device or stream
	Ends     bool                // it frees the memory (EndLifetimeOn)
	Line     int                 // of a log, where the work was launched: see At
	Epoch    happensbefore.Epoch // of an earlier access: whether something comes after it
	Device   spec.Device
	Stream   spec.Stream // of a node, the one that the graph was launched on
	Write    bool
	Range    spec.Range
	Lifetime Lifetime // of the bytes; zero if no allocator manages them, or nobody has them
}

// String says it in a clause: kernel "a" (work 1, stream 0x7) writes 512 bytes at
// 0x... in lifetime 1 (...).
func (a *Access) String() string {
	verb := "reads"
	if a.Write {
		verb = "writes"
	}
	lifetime := ""
	if a.Lifetime != (Lifetime{}) {
		lifetime = " in " + a.Lifetime.String()
	}
	return fmt.Sprintf("%s %s %d bytes at %v%s", a.who(), verb, a.Range.Bytes, a.Range.Ptr, lifetime)
}

// who is the piece of work.
func (a *Access) who() string {
	what := a.Kind
	if a.Name != "" {
		what += fmt.Sprintf(" %q", a.Name)
	}
	if a.Graph {
		what += " of a graph"
	}
	if a.Host {
		return what
	}
	if a.Work != 0 {
		return fmt.Sprintf("%s (work %d, %s)", what, a.Work, streamName(a.Device, a.Stream))
	}
	return fmt.Sprintf("%s (%s)", what, streamName(a.Device, a.Stream))
}

// String says it in a sentence.
func (h Hazard) String() string {
	text := h.Kind.String() + ": "
	if h.First != nil && h.Kind != NotAllocated {
		text += h.First.String() + "; "
	}
	if h.Second != nil {
		text += h.Second.String() + "; "
	}
	return text + h.Missing
}

// streamName names a stream for people.
func streamName(dev spec.Device, s spec.Stream) string {
	return (&stream{device: dev, handle: s}).String()
}

// adviceFor says what would have put two accesses in order. Who was careless can be
// seen from the streams that the two lifetimes were allocated for; graphs and what no
// allocator manages concern the program only.
func adviceFor(first, second *Access) string {
	by, to := streamName(first.Device, first.Stream), streamName(second.Device, second.Stream)
	text := fmt.Sprintf("nothing makes %s wait for %s: ", second.who(), first.who())
	switch {
	case first.Graph && second.Graph && first.Work == second.Work:
		return text + "the graph lacks a dependency between the two nodes"
	case first.Host, second.Host:
		return text + "the host thread has to wait for the stream, or the stream is given its work by the thread that has accessed the memory"
	case first.Graph, second.Graph, first.Lifetime.nobodys(), second.Lifetime.nobodys():
		return text + fmt.Sprintf("an event recorded in %s and waited for by %s would", by, to)
	case first.Lifetime.knowsOf(first.Device, first.Stream):
		return text + fmt.Sprintf("the use by %s was recorded before %s was freed, so the memory may go to %s only when the work of %s is over, "+
			"or when %s waits for an event of %s", by, shortName(first), to, by, to, by)
	case first.Device != first.Lifetime.Device || first.Stream != first.Lifetime.Stream:
		return text + fmt.Sprintf("RecordStream(%s) before %s was freed, or an event recorded in %s and waited for by %s, would",
			by, shortName(first), by, to)
	case second.Device != second.Lifetime.Device || second.Stream != second.Lifetime.Stream:
		return text + fmt.Sprintf("%s was allocated for %s, and an event recorded there and waited for by %s would",
			shortName(second), streamName(second.Lifetime.Device, second.Lifetime.Stream), to)
	}
	return text + fmt.Sprintf("memory that %s has used may go to %s only when that is over, or when %s waits for an event of %s",
		by, to, to, by)
}

func shortName(a *Access) string { return fmt.Sprintf("lifetime %d", a.Lifetime.Number) }

// maxHazards bounds what is kept of a program that does nothing right.
const maxHazards = 1000

// Hazards lists the hazards of the process, oldest first; of more than a thousand,
// the first thousand. Each pair of accesses is reported once, but each launch of a graph
// that is wrong reports it again. There are none before detection is turned on, by
// Config.Hazards or by the first BeginLifetime.
func (g *GPU) Hazards() []Hazard {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	if g.detector == nil {
		return nil
	}
	return append([]Hazard(nil), g.detector.found...)
}
