// Package brief is an answer in three lines: what happened, the cause or where the peak is, what to try.
package brief

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Columns is how long a line is at most.
const Columns = 100

// Lines are the three lines. One that is empty is left out.
type Lines struct {
	Happened string `json:"happened"`
	Cause    string `json:"cause,omitempty"` // of a failure
	Peak     string `json:"peak,omitempty"`  // where it is and what holds it; instead of a cause, where nothing failed
	Diff     string `json:"diff,omitempty"`  // what changed between snapshots; instead of a cause as well
	Try      string `json:"try"`
}

// The labels of the second and the third line. All are as long.
const (
	causeLabel = "Cause: "
	peakLabel  = "Peak:  "
	diffLabel  = "Diff:  "
	tryLabel   = "Try:   "
)

// Map changes the text of each line.
func (l Lines) Map(change func(string) string) Lines {
	return Lines{change(l.Happened), change(l.Cause), change(l.Peak), change(l.Diff), change(l.Try)}
}

// Fit shortens the lines, with their labels, to Columns.
func (l Lines) Fit() Lines {
	fit := l.Map(func(text string) string { return shorten(text, Columns-len(tryLabel)) })
	fit.Happened = shorten(l.Happened, Columns)
	return fit
}

// Fits reports whether a text can be the second or the third line.
func Fits(text string) bool { return utf8.RuneCountInString(text) <= Columns-len(tryLabel) }

// FirstThatFits is the first of several forms of the second or the third line that fits, or else the last.
func FirstThatFits(forms ...string) string { return firstOf(Columns-len(tryLabel), forms) }

// Headline is the first of several forms of the first line that fits, or else the last.
func Headline(forms ...string) string { return firstOf(Columns, forms) }

func firstOf(most int, forms []string) string {
	for _, form := range forms {
		if utf8.RuneCountInString(form) <= most {
			return form
		}
	}
	return forms[len(forms)-1]
}

// Write writes the lines. The first one, and what to try, are emphasized.
func (l Lines) Write(w io.Writer, emphasize func(string) string) error {
	l = l.Fit()
	text := ""
	for _, line := range []struct{ label, text string }{{"", emphasized(l.Happened, emphasize)}, {causeLabel, l.Cause}, {peakLabel, l.Peak}, {diffLabel, l.Diff}, {tryLabel, emphasized(l.Try, emphasize)}} {
		if line.text != "" {
			text += line.label + line.text + "\n"
		}
	}
	_, err := fmt.Fprint(w, text)
	return err
}

// WriteBehind writes the lines behind a prefix, where others write as well. They have no labels. One that is longer
// than Columns with the prefix goes on in the next line, since advice that is cut cannot be followed.
func (l Lines) WriteBehind(w io.Writer, prefix string, emphasize func(string) string) {
	most := Columns - utf8.RuneCountInString(prefix)
	text := ""
	for _, line := range []struct {
		text      string
		emphasize func(string) string
	}{{l.Happened, emphasize}, {l.Cause, nil}, {l.Peak, nil}, {l.Diff, nil}, {l.Try, emphasize}} {
		for _, part := range wrapped(line.text, most) {
			text += prefix + emphasized(part, line.emphasize) + "\n"
		}
	}
	fmt.Fprint(w, text)
}

// wrapped is a text in lines of at most so many characters, of which those behind the first are indented. A word
// that is longer is in a line of its own.
func wrapped(text string, most int) (lines []string) {
	const indent = "  "
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) > most:
			lines = append(lines, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func emphasized(text string, emphasize func(string) string) string {
	if text == "" || emphasize == nil {
		return text
	}
	return emphasize(text)
}

// shorten leaves out what does not fit from the end.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	runes := []rune(text)
	return string(runes[:most-3]) + "..."
}
