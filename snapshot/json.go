package snapshot

import (
	"bufio"
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
	decoder := json.NewDecoder(io.LimitReader(in.in, maxBytes))
	decoder.UseNumber()
	var stack []value
	var open []openJSON
	for {
		token, err := decoder.Token()
		at := decoder.InputOffset()
		if err != nil {
			return value{}, describeJSON(err, at)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open = append(open, openJSON{len(stack), at - 1, token == json.Delim('{')})
			continue
		case json.Delim('}'), json.Delim(']'):
			last := open[len(open)-1]
			open = open[:len(open)-1]
			v := value{}
			if last.dict {
				v = values.newDict()
				err = values.fill(v, stack[last.base:], last.offset)
			} else {
				v = values.newList(stack[last.base:], last.offset)
			}
			stack = append(stack[:last.base], v)
		default:
			var v value
			v, err = scalarJSON(token, values, at)
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

func scalarJSON(token json.Token, values *plain, at int64) (value, error) {
	switch t := token.(type) {
	case bool:
		if t {
			return value{boolean, 1}, nil
		}
		return value{boolean, 0}, nil
	case string:
		return values.text([]byte(t)), nil
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
		return failAt(syntax.Offset, "not JSON: %v", err)
	}
	return failAt(at, "%s", describe(err))
}
