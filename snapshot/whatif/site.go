package whatif

import (
	"fmt"
	"strconv"
	"strings"

	"gaugeblock/snapshot"
)

// site is the program's line in the call stack of an entry, "" without one.
func site(e *snapshot.TraceEntry) string {
	frame, ok := framesOf(e).ProgramFrame()
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d, %s", printable(frame.Filename), frame.Line, printable(frame.Name))
}

// printable is a text from a file for a terminal: characters that do not print are escaped.
func printable(text string) string {
	quoted := strconv.Quote(text)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// quoted is a text from a file in quotes.
func quoted(text string) string { return strconv.Quote(text) }
