package history

import (
	"fmt"

	"gaugeblock/internal/quote"
	"gaugeblock/snapshot"
)

// Site is the program's line in the call stack of an entry, "" without one.
func Site(e *snapshot.TraceEntry) string {
	frame, ok := FrameOf(e)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s:%d, %s", quote.Text(frame.Filename), frame.Line, quote.Text(frame.Name))
}

// FrameOf is the program's own frame in the call stack of an entry.
func FrameOf(e *snapshot.TraceEntry) (snapshot.Frame, bool) { return framesOf(e).ProgramFrame() }
