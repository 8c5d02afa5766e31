package settings

import (
	"fmt"
	"strings"
)

// Error is a settings string that was refused, and why. Nothing of the
// string has been applied.
type Error struct {
	Key    string // whose setting is wrong, known or not; empty where no key stands
	Text   string // what is wrong, without white space; empty at the end of the string
	Offset int    // where Text begins: bytes from the start of the string
	Reason string // what would be right
}

func (e *Error) Error() string {
	where := "the end"
	if e.Text != "" {
		where = fmt.Sprintf("%q", shortened(e.Text))
	}
	msg := fmt.Sprintf("%s at byte %d: %s", where, e.Offset, e.Reason)
	if e.Key != "" {
		msg = shortened(e.Key) + ": " + msg
	}
	return "settings: " + msg
}

// mostShown is how many bytes of a key or value a message shows.
const mostShown = 200

// shortened is a text as a message shows it.
func shortened(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + "..."
}
