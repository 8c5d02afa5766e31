package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/unpack"
	"gaugeblock/snapshot/errortext"
)

// mostText is how much of a text is searched for an error, in bytes.
const mostText = 256 << 20

// errorText reads the input if it is a text: an error message, or a log with some inside. It
// returns nothing for what may be a snapshot.
func (c *whatifCommand) errorText(env *environment) ([]*errortext.Message, error) {
	name, in := c.File, (*bufio.Reader)(nil)
	if c.File == "-" {
		name, in = "stdin", bufio.NewReader(env.stdin)
	} else {
		if there, err := os.Stat(c.File); err != nil || !there.Mode().IsRegular() {
			return nil, nil // an error is reported when it is opened
		}
		file, err := os.Open(c.File)
		if err != nil {
			return nil, nil
		}
		defer file.Close()
		in = bufio.NewReader(file)
	}
	in, err := unpack.Open(in, c.MaxMemory.most())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	if c.File == "-" {
		env.stdin = in
	}
	kind := kindOf(in)
	if kind == noText {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, mostText))
	var list []*errortext.Message
	if err == nil {
		list = errortext.FindAll(errortext.Decode(text))
	}
	switch {
	case len(list) > 0:
		return list, nil
	case kind == maybeText: // who reads it as a snapshot or a trace says where it is wrong
		env.stdin = io.MultiReader(bytes.NewReader(text), env.stdin)
		return nil, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = unpack.ErrCutOff
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	if why := errortext.NoError(errortext.Decode(text)); why != "" {
		return nil, fmt.Errorf("%s: %s", quote.Text(name), why)
	}
	return nil, fmt.Errorf("%s: this is a text without an out-of-memory error of PyTorch and without a table of memory_summary; a memory snapshot is a pickle or JSON", quote.Text(name))
}

// inputKind is what an input can be by its beginning.
type inputKind int

const (
	noText    inputKind = iota // a snapshot or a trace
	maybeText                  // JSON that does not begin as a snapshot does: a log, a notebook
	isText
)

// snapshotKeys are in the beginning of what is a snapshot or a trace as JSON.
var snapshotKeys = []string{`"segments"`, `"device_traces"`, `"total_size"`, `"allocator-trace"`}

// kindOf looks at the beginning of an input.
func kindOf(in *bufio.Reader) inputKind {
	head, _ := in.Peek(in.Size())
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return isText // UTF-16
	}
	trimmed := bytes.TrimLeft(head, " \t\r\n\ufeff")
	switch {
	case len(trimmed) == 0 || bytes.HasPrefix(trimmed, []byte("PK")):
		return noText
	case isJSON(trimmed):
		for _, key := range snapshotKeys {
			if bytes.Contains(trimmed, []byte(key)) {
				return noText
			}
		}
		return maybeText
	case trimmed[0] == 0x80: // a pickle
		return noText
	}
	for _, b := range trimmed[:min(len(trimmed), 256)] {
		if b < ' ' && !bytes.ContainsRune([]byte("\a\b\t\r\n\v\f\x1b"), rune(b)) {
			return noText
		}
	}
	return isText
}

// isJSON reports whether a text begins as JSON does. A line of a log may begin with a bracket.
func isJSON(text []byte) bool {
	if text[0] != '[' {
		return text[0] == '{'
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	return len(rest) == 0 || bytes.ContainsAny(rest[:1], "{[]")
}

// mostErrors is how many errors are told.
const mostErrors = 8

// explainError prints what error texts say, and what follows from the first of them.
func (c *whatifCommand) explainError(env *environment, list []*errortext.Message) error {
	out := &checkedWriter{to: env.stdout}
	m := list[0]
	if c.JSON {
		writeJSON(out, map[string]any{"brief": m.Brief(), "cause": m.Cause(), "sure": m.Sure(), "error_text": m, "explanation": m.Explain(), "others": list[1:]})
		return out.err
	}
	writeBrief(out, env.stdout, m.Brief())
	if c.Why {
		fmt.Fprintf(out, "\n%s\n", paragraph(m.Explain(), terminalWidth(env.stdout)))
	} else {
		fmt.Fprintln(out, "\n--why tells the reasons, and where the memory is.")
	}
	if m.Times > 1 {
		fmt.Fprintf(out, "The text has it %d times.\n", m.Times)
	}
	if len(list) > 1 {
		fmt.Fprintf(out, "The first of %d different errors in the text is explained. The others:\n", len(list))
		for _, other := range list[1:min(len(list), mostErrors)] {
			lines := other.Brief()
			fmt.Fprintf(out, "  %s\n    %s\n", lines.Happened, lines.Cause)
		}
		if more := len(list) - mostErrors; more > 0 {
			fmt.Fprintf(out, "  and %d more; --json has all.\n", more)
		}
	}
	return out.err
}
