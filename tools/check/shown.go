package check

import (
	"fmt"

	"github.com/dustin/go-humanize/english"

	"gaugeblock/spec/trace"
)

// What a log does not show, and could not be looked for. A log of RMM's own shows
// allocations and frees, and nothing else.

// shown is what a log has shown beside allocations, frees and work.
type shown struct {
	waits   bool // of streams, or of the host
	skipped int  // waits for events that the log does not record
}

// met counts an operation on events or streams.
func (s *shown) met(op *trace.Op, skipped bool) {
	if skipped {
		s.skipped++
	} else if op.Kind != trace.OpRecordEvent {
		s.waits = true
	}
}

// finish looks what is left over, and says what could not be looked for.
func (c *checker) finish(whole bool) {
	left := c.memory.live
	if !c.options.Live && whole {
		for _, a := range c.memory.byAge() {
			c.result.add(Violation{Line: a.line, Kind: Leak}, "%d bytes at %s were allocated here and never freed", a.bytes, c.pointer(a.ptr))
		}
	}
	if !whole {
		text := "the log has no end: it may have been cut off"
		if left > 0 && !c.options.Live {
			text += fmt.Sprintf(", and what is allocated there (%s) is no leak", english.Plural(left, "allocation", ""))
		}
		c.note("%s", text)
	}
	c.notShown()
}

func (c *checker) notShown() {
	streams := len(c.streams.byHandle)
	switch {
	case !c.worked:
		c.result.NoWork = true
		c.note("hazards could not be looked for: no line says what work uses the memory")
	case !c.shown.waits && streams > 1:
		c.note("the log has %s, and no line makes one wait for another", english.Plural(streams, "stream", ""))
	}
	if c.driver.silent {
		c.note("the log has no driver calls, so every address counted as memory")
	}
	if c.shown.skipped > 0 {
		c.note("%s for events that the log does not record: nothing is ordered by that", english.Plural(c.shown.skipped, "wait is", "waits are"))
	}
	if c.streams.created && c.streams.unknown > 0 {
		c.note("%s, which %s as non-blocking", english.Plural(c.streams.unknown, "stream is not created in the log", "streams are not created in the log"), counts(c.streams.unknown))
	}
}

func counts(n int) string {
	if n == 1 {
		return "counts"
	}
	return "count"
}

func (c *checker) note(format string, args ...any) {
	c.result.Notes = append(c.result.Notes, fmt.Sprintf(format, args...))
}
