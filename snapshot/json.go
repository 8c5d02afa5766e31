package snapshot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
)

// JSON is what json.dump writes of torch.cuda.memory._snapshot(). It is read token by token
// into the same plain values as a pickle, without recursion.

// openJSON is a list or dict that has not ended: where its contents begin on the stack,
// and its offset in the file.
type openJSON struct {
	base   int
	offset int64
	dict   bool
}

func parseJSON(in *source, values *plain) (value, error) {
	ahead := &tokenReader{in: io.LimitReader(in.in, maxBytes), most: int64(min(in.memory.left/4, maxBytes))}
	decoder := json.NewDecoder(ahead)
	decoder.UseNumber()
	var stack []value
	var open []openJSON
	for {
		token, err := decoder.Token()
		at := decoder.InputOffset()
		ahead.done = at
		if err != nil {
			return value{}, describeJSON(err, at)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open = append(open, openJSON{len(stack), at - 1, token == json.Delim('{')})
			if err := in.memory.take(openBytes, at); err != nil { // the decoder has a stack of its own
				return value{}, err
			}
			continue
		case json.Delim('}'), json.Delim(']'):
			last := open[len(open)-1]
			open = open[:len(open)-1]
			var v value
			v, err = closeJSON(values, stack[last.base:], last)
			stack = append(stack[:last.base], v)
		default:
			var v value
			if v, err = scalarJSON(token, values, at); err == nil {
				err = in.memory.take(valueBytes, at)
			}
			stack = append(stack, v)
		}
		if err != nil {
			return value{}, err
		}
		if len(open) == 0 {
			in.offset = at
			in.in = bufio.NewReader(io.MultiReader(decoder.Buffered(), in.in))
			return stack[0], nil
		}
	}
}

// closeJSON makes a list or dict of its items.
func closeJSON(values *plain, items []value, o openJSON) (value, error) {
	if !o.dict {
		return values.newList(items, o.offset)
	}
	v, err := values.newDict(o.offset)
	if err != nil {
		return v, err
	}
	return v, values.fill(v, items, o.offset)
}

// openBytes is what an open list or dict takes, here and in the decoder.
const openBytes = 64

// tokenReader bounds what the decoder reads before it returns a token: a string can be as long as
// the file.
type tokenReader struct {
	in         io.Reader
	read, done int64 // bytes that were read, and up to the last token
	most       int64
	blanks     int // in a row, at the end of what was read
}

// mostBlanks bounds the blanks in a row: the decoder looks at all of them again with each read.
const mostBlanks = 1 << 20

func (t *tokenReader) Read(p []byte) (int, error) {
	if t.read-t.done > t.most {
		return 0, errLongToken
	}
	n, err := t.in.Read(p)
	t.read += int64(n)
	before := len(bytes.TrimRight(p[:n], " \n\t\r"))
	if before > 0 {
		t.blanks = 0
	}
	t.blanks += n - before
	if t.blanks > mostBlanks {
		return 0, errBlanks
	}
	return n, err
}

var errBlanks = errors.New("there are more than a million blanks in a row")

var errLongToken = errors.New("a string is too long for the memory; --max-memory sets another limit")

func scalarJSON(token json.Token, values *plain, at int64) (value, error) {
	switch t := token.(type) {
	case bool:
		if t {
			return value{boolean, 1}, nil
		}
		return value{boolean, 0}, nil
	case string:
		return values.text([]byte(t), at)
	case json.Number:
		return numberJSON(string(t), at)
	}
	return value{}, nil
}

func numberJSON(t string, at int64) (value, error) {
	if n, err := strconv.ParseInt(t, 10, 64); err == nil {
		return value{integer, uint64(n)}, nil
	}
	if n, err := strconv.ParseUint(t, 10, 64); err == nil {
		return value{unsigned, n}, nil
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil {
		return value{}, failAt(at, "%s is not a number that fits 64 bits", t)
	}
	return value{float, math.Float64bits(f)}, nil
}

func describeJSON(err error, at int64) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failAt(at, "the file ends too early: it was cut off")
	case errors.As(err, &syntax):
		hint := ""
		if syntax.Offset < 64 && at <= 1 { // it may be "[rank0]: ..."
			hint = textHint
		}
		return failAt(syntax.Offset, "not JSON: %v%s", err, hint)
	}
	return failAt(at, "%s", describe(err))
}
