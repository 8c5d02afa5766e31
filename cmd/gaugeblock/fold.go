package main

import (
	"bytes"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// foldWriter breaks lines that are wider than a terminal between words, and indents what follows. What
// is to be copied stays whole: JSON, and commands, which are indented or begin with export.
type foldWriter struct {
	to      io.Writer
	columns int
	rest    []byte // the beginning of a line
}

// narrowest is a terminal on which lines are not broken: nothing would be read there.
const narrowest = 20

// folded is a writer that folds lines, if what is written appears on a terminal.
func folded(w io.Writer) io.Writer {
	if columns := terminalWidth(w); isScreen(w) && columns >= narrowest {
		return &foldWriter{to: w, columns: columns}
	}
	return w
}

func (f *foldWriter) Write(p []byte) (int, error) {
	f.rest = append(f.rest, p...)
	end := bytes.LastIndexByte(f.rest, '\n') + 1
	if end == 0 {
		return len(p), nil
	}
	var b strings.Builder
	for line := range strings.Lines(string(f.rest[:end])) {
		b.WriteString(foldLine(strings.TrimSuffix(line, "\n"), f.columns))
		b.WriteByte('\n')
	}
	f.rest = append(f.rest[:0], f.rest[end:]...)
	if _, err := io.WriteString(f.to, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// flush writes a line that has no end.
func (f *foldWriter) flush() error {
	_, err := f.to.Write(f.rest)
	f.rest = nil
	return err
}

// foldLine breaks a line.
func foldLine(line string, columns int) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if text.StringWidthWithoutEscSequences(line) <= columns || strings.HasPrefix(line, "{") || len(indent) >= 4 || strings.Contains(line, "export ") {
		return line
	}
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(line) {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case width == 0:
			b.WriteString(indent)
			width = len(indent)
		case width+1+n > columns:
			b.WriteString("\n" + indent + "  ")
			width = len(indent) + 2
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}
