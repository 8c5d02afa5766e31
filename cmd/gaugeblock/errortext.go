package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"

	"gaugeblock/internal/quote"
	"gaugeblock/internal/unpack"
	"gaugeblock/snapshot/errortext"
)

// mostText is how much of a text is searched for an error, in bytes.
const mostText = 256 << 20

// errorText reads the input if it is a text: an error message, or a log with one inside. It
// returns nil for what may be a snapshot.
func (c *whatifCommand) errorText(env *environment) (*errortext.Message, error) {
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
	head, _ := in.Peek(256)
	if !isText(head) {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(in, mostText))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quote.Text(name), err)
	}
	if m := errortext.Find(string(text)); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("%s: this is a text without an out-of-memory error of PyTorch and without a table of memory_summary; a memory snapshot is a pickle or JSON", quote.Text(name))
}

// isText reports whether an input begins as no snapshot does: it is not compressed, no
// pickle, no archive and no JSON. A line of a log may begin with a bracket.
func isText(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n\ufeff")
	if len(head) == 0 || head[0] == '{' || bytes.HasPrefix(head, []byte("PK")) {
		return false
	}
	if head[0] == '[' {
		rest := bytes.TrimLeft(head[1:], " \t\r\n")
		return len(rest) > 0 && !bytes.ContainsAny(rest[:1], "{[]")
	}
	for _, b := range head {
		if b < ' ' && !bytes.ContainsRune([]byte("\t\r\n\x1b"), rune(b)) || b == 0x80 && head[0] == b {
			return false
		}
	}
	return true
}

// explainError prints what an error text says, and what follows from it.
func (c *whatifCommand) explainError(env *environment, m *errortext.Message) error {
	out := &checkedWriter{to: env.stdout}
	if c.JSON {
		writeJSON(out, map[string]any{"brief": m.Brief(), "cause": m.Cause(), "error_text": m, "explanation": m.Explain()})
		return out.err
	}
	env.writeBrief(out, m.Brief())
	if c.Why {
		fmt.Fprintf(out, "\n%s\n", paragraph(m.Explain(), terminalWidth(env.stdout)))
	} else {
		fmt.Fprintln(out, "\n--why tells the reasons, and where the memory is.")
	}
	if m.Others > 0 {
		fmt.Fprintf(out, "The first of %d in the text is explained.\n", m.Others+1)
	}
	return out.err
}
