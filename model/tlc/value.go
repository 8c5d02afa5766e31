package tlc

import (
	"bytes"
	"fmt"
	"slices"
)

// Canonical appends the canonical text of a value that TLC has printed.
//
// TLC breaks long values into lines, prints the fields of a record in the order in which
// their names first occur in a specification, and the elements of a set in an order of its
// own. The canonical text does not depend on these:
//
//	no white space, except in strings
//	a number, a string in quotes, TRUE, FALSE, a name       as they are
//	a sequence   <<a,b>>
//	a set        {a,b}               elements by their texts, byte for byte
//	a record     [a|->1,b|->2]       fields likewise
//	a function   (0:>"a"@@1:>"b")    likewise; with the domain 1..n TLC prints a sequence
//
// The canonical text of a canonical text is the same text.
func Canonical(to, printed []byte) ([]byte, error) {
	r := reader{text: printed, out: to}
	r.value()
	r.end()
	return r.out, r.err
}

// CanonicalLabel appends the canonical text of a label: the name of an action, and its arguments if
// it has any: Malloc(1,3).
func CanonicalLabel(to, printed []byte) ([]byte, error) {
	r := reader{text: printed, out: to}
	r.name()
	if r.peek() == '(' {
		r.take("(")
		r.value()
		for r.peek() == ',' {
			r.take(",")
			r.value()
		}
		r.take(")")
	}
	r.end()
	return r.out, r.err
}

// CanonicalState appends the canonical text of a state: the values of all variables. TLC
// writes a line "/\ x = 1" for each, and just "x = 1" if there is only one. The canonical
// text has lines "x=1", in order of the names, the last without a line break.
func CanonicalState(to, printed []byte) ([]byte, error) {
	begin := len(to)
	r := reader{text: printed, out: to}
	var ends []int
	for r.peek() != 0 {
		if r.peek() == '/' {
			r.skip(`/\`)
		}
		r.name()
		r.take("=")
		r.value()
		ends = append(ends, len(r.out))
	}
	if len(ends) == 0 {
		r.fail("a state without variables")
	}
	r.sort(begin, ends, "\n")
	return r.out, r.err
}

// A reader reads a text and writes its canonical text.
type reader struct {
	text  []byte
	at    int
	out   []byte
	depth int
	err   error
}

// maxDepth is the largest nesting depth of values.
const maxDepth = 100

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d: %s", r.at, fmt.Sprintf(format, args...))
	}
	r.at = len(r.text)
}

// peek is the next character that is not white space, 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\t', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

func (r *reader) end() {
	if r.peek() != 0 {
		r.fail("something follows the end")
	}
}

// next reports whether a token comes next.
func (r *reader) next(token string) bool {
	r.peek()
	return bytes.HasPrefix(r.text[r.at:], []byte(token))
}

func (r *reader) skip(token string) {
	if !r.next(token) {
		r.fail("%s is missing", token)
		return
	}
	r.at += len(token)
}

// take copies a required token.
func (r *reader) take(token string) {
	r.skip(token)
	r.out = append(r.out, token...)
}

func isNameByte(c byte) bool {
	return c == '_' || c == '!' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (r *reader) name() {
	r.peek()
	begin := r.at
	for r.at < len(r.text) && isNameByte(r.text[r.at]) {
		r.at++
	}
	if r.at == begin {
		r.fail("a name is missing")
	}
	r.out = append(r.out, r.text[begin:r.at]...)
}

func (r *reader) value() {
	r.depth++
	switch c := r.peek(); {
	case r.depth > maxDepth:
		r.fail("nested too deep")
	case c == '"':
		r.quoted()
	case c == '{':
		r.list("{", "}", true, r.value)
	case c == '<':
		r.list("<<", ">>", false, r.value)
	case c == '[':
		r.list("[", "]", true, r.field)
	case c == '(':
		r.function()
	case c == '-':
		r.take("-")
		r.name()
	case isNameByte(c):
		r.name()
	default:
		r.fail("a value is missing")
	}
	r.depth--
}

func (r *reader) quoted() {
	begin := r.at
	for r.at++; r.at < len(r.text) && r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
		}
	}
	if r.at >= len(r.text) {
		r.fail("a string without an end")
		return
	}
	r.at++
	r.out = append(r.out, r.text[begin:r.at]...)
}

func (r *reader) field() {
	r.name()
	r.take("|->")
	r.value()
}

func (r *reader) pair() {
	r.value()
	r.take(":>")
	r.value()
}

// list is elements between brackets, with commas.
func (r *reader) list(open, end string, sorted bool, element func()) {
	r.take(open)
	begin := len(r.out)
	var ends []int
	for !r.next(end) && r.err == nil {
		switch {
		case len(ends) > 0 && sorted: // sort writes them
			r.skip(",")
		case len(ends) > 0:
			r.take(",")
		}
		element()
		ends = append(ends, len(r.out))
	}
	if sorted {
		r.sort(begin, ends, ",")
	}
	r.take(end)
}

// function is a function that is not a sequence: (0 :> "a" @@ 1 :> "b").
func (r *reader) function() {
	r.take("(")
	begin := len(r.out)
	r.pair()
	ends := []int{len(r.out)}
	for r.next("@@") {
		r.skip("@@")
		r.pair()
		ends = append(ends, len(r.out))
	}
	r.sort(begin, ends, "@@")
	r.take(")")
}

// sort sorts the consecutive pieces that were written.
func (r *reader) sort(begin int, ends []int, separator string) {
	r.out = sortPieces(r.out, begin, ends, separator)
}

// sortPieces sorts the consecutive pieces of a text from begin on, with a separator between
// them.
func sortPieces(text []byte, begin int, ends []int, separator string) []byte {
	if len(ends) < 2 {
		return text
	}
	pieces := cut(text, begin, ends)
	slices.SortFunc(pieces, bytes.Compare)
	return join(text, begin, pieces, separator)
}

// SortPieces sorts the pieces of a text that end at these indexes, with a separator between
// them.
func SortPieces(text []byte, ends []int, separator string) []byte {
	return sortPieces(text, 0, ends, separator)
}

func cut(text []byte, begin int, ends []int) [][]byte {
	text = slices.Clone(text[begin:])
	pieces := make([][]byte, len(ends))
	from := 0
	for i, end := range ends {
		pieces[i] = text[from : end-begin]
		from = end - begin
	}
	return pieces
}

func join(text []byte, begin int, pieces [][]byte, separator string) []byte {
	text = text[:begin]
	for i, piece := range pieces {
		if i > 0 {
			text = append(text, separator...)
		}
		text = append(text, piece...)
	}
	return text
}
