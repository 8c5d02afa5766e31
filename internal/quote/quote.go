// Package quote makes text from a file safe to show. A name in a file may have characters
// that a terminal obeys (ESC), that are invisible, that change the direction of the text
// around them, or that begin a line which this project did not write. They are shown as
// Go and JSON write them: \u001b.
//
// Text is for one text inside a line. Writer is for all output of a command: what it
// passes on has no such character even where Text was forgotten.
package quote

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text as one line. Bytes that are not UTF-8 become U+FFFD.
func Text(s string) string {
	special := func(r rune) bool { return harmful(r) || r == '\n' || r == '\t' || r == utf8.RuneError }
	if strings.IndexFunc(s, special) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if harmful(r) || r == '\n' || r == '\t' {
			escape(&b, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// harmful reports whether a character is not shown as itself. Line feed and tab, which
// output needs, are not among them.
func harmful(r rune) bool {
	return r != '\n' && r != '\t' && !unicode.IsGraphic(r)
}

// escape writes a character as it is written in a string of JSON.
func escape(w io.Writer, r rune) {
	if r > 0xFFFF {
		high, low := (r-0x10000)>>10+0xD800, (r-0x10000)&0x3FF+0xDC00
		fmt.Fprintf(w, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(w, `\u%04x`, r)
}

// Writer passes text on, with harmful characters escaped. JSON stays the same JSON, since
// they can only be inside of its strings.
type Writer struct {
	To   io.Writer
	rest []byte // the beginning of a character whose end has not been written
}

// Write never reports fewer bytes than it was given, except with an error.
func (w *Writer) Write(p []byte) (int, error) {
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
		w.rest = nil
	}
	var b bytes.Buffer
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if !utf8.FullRune(text) {
			w.rest = bytes.Clone(text)
			break
		}
		if harmful(r) {
			escape(&b, r)
		} else {
			b.WriteRune(r)
		}
		text = text[size:]
	}
	if b.Len() == 0 {
		return len(p), nil
	}
	if _, err := w.To.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}
