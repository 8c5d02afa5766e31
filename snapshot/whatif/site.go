package whatif

import (
	"fmt"
	"strconv"

	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
)

// site is the program's line in the call stack of an entry, "" without one.
func site(e *snapshot.TraceEntry) string {
	frame, ok := framesOf(e).ProgramFrame()
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d, %s", quote.Text(frame.Filename), frame.Line, quote.Text(frame.Name))
}

// quoted is a text from a file in quotes.
func quoted(text string) string { return strconv.Quote(text) }
