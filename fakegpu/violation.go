package fakegpu

import (
	"fmt"

	"gaugeblock/spec"
)

// Violation is work that touched memory which it had no right to touch at the time
// it ran: freed, not mapped, never allocated, without access. A real device would
// stop with an illegal address, or worse, go on.
type Violation struct {
	Work   uint64 // numbers work over the whole machine, in the order in which it was given
	Kind   string // "kernel", "fill", "copy"
	Name   string // of a kernel
	Device spec.Device
	Stream spec.Stream
	Write  bool
	Range  spec.Range
	Reason string
}

// String says it in a sentence.
func (v Violation) String() string {
	verb := "reads"
	if v.Write {
		verb = "writes"
	}
	name := v.Kind
	if v.Name != "" {
		name += fmt.Sprintf(" %q", v.Name)
	}
	return fmt.Sprintf("%s (work %d, device %d, stream %v) %s %d bytes at %v: %s",
		name, v.Work, v.Device, v.Stream, verb, v.Range.Bytes, v.Range.Ptr, v.Reason)
}

// maxViolations bounds what is kept of a program that does nothing right.
const maxViolations = 1000

// violate writes a violation down.
func (g *GPU) violate(v Violation) {
	if len(g.violations) < maxViolations {
		g.violations = append(g.violations, v)
	}
}

// Violations lists what the process's work has touched without having the right
// to, oldest first; of more than a thousand, the first thousand.
func (g *GPU) Violations() []Violation {
	g.machine.mu.Lock()
	defer g.machine.mu.Unlock()
	return append([]Violation(nil), g.violations...)
}
