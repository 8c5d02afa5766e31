package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gaugeblock/spec"
)

// A jsonCursor reads one line of JSON from left to right. It knows what it wants
// next, as a trace has a fixed shape; nothing is read into maps and looked at
// afterwards.
//
// encoding/json is not used for this because it is too lenient for a format that
// other programs write: it takes "Size" for "size", the second of two equal keys,
// null for a number, and cannot say in which column something is wrong.
// Everything that the cursor takes is valid JSON, of which it takes less: whole
// numbers may not be written 1e3, and nesting ends at maxDepth.
//
// The first thing that is wrong is kept in reason. From then on every method
// returns at once with a zero value and more reports false, so that callers need
// to look only at the end.
type jsonCursor struct {
	line   []byte
	pos    int
	opened bool     // an array or object was opened and has no element yet
	path   []string // the names of the members that are being read, outermost first
	reason string
}

// maxDepth bounds the nesting of values that are skipped unseen.
const maxDepth = 32

func (c *jsonCursor) failed() bool { return c.reason != "" }

// fail records what is wrong with the value at the cursor, which is JSON.
func (c *jsonCursor) fail(format string, args ...any) {
	if c.failed() {
		return
	}
	c.reason = fmt.Sprintf(format, args...) + fmt.Sprintf(" (column %d)", c.pos+1)
	if len(c.path) > 0 {
		c.reason = fmt.Sprintf("field %q: %s", strings.Join(c.path, "."), c.reason)
	}
}

// malformed records that the line is not JSON from the cursor on.
func (c *jsonCursor) malformed(format string, args ...any) {
	if !c.failed() {
		c.reason = "not JSON: " + fmt.Sprintf(format, args...) + fmt.Sprintf(" (column %d)", c.pos+1)
	}
}

// want records that something else was found. If what was found cannot begin any
// value then the line is no JSON at all.
func (c *jsonCursor) want(what string) {
	have, isValue := c.have()
	if isValue {
		c.fail("want %s, have %s", what, have)
	} else {
		c.malformed("want %s, have %s", what, have)
	}
}

// have describes what is at the cursor.
func (c *jsonCursor) have() (text string, isValue bool) {
	switch ch := c.peek(); {
	case ch == 0:
		return "the end of the line", false
	case ch == '"':
		return "a string", true
	case ch == '{':
		return "an object", true
	case ch == '[':
		return "an array", true
	case ch == '-' || isDigit(ch):
		return "a number", true
	}
	for _, word := range []string{"true", "false", "null"} {
		if c.startsWith(word) {
			return word, true
		}
	}
	r, _ := utf8.DecodeRune(c.line[c.pos:])
	return strconv.QuoteRune(r), false
}

// peek skips white space and returns the next byte, 0 at the end. No line has a
// byte 0 in it, see checkText.
func (c *jsonCursor) peek() byte {
	for ; c.pos < len(c.line); c.pos++ {
		switch c.line[c.pos] {
		case ' ', '\t', '\r', '\n':
		default:
			return c.line[c.pos]
		}
	}
	return 0
}

func (c *jsonCursor) startsWith(word string) bool {
	return len(c.line)-c.pos >= len(word) && string(c.line[c.pos:c.pos+len(word)]) == word
}

// end checks that nothing follows.
func (c *jsonCursor) end() {
	if !c.failed() && c.peek() != 0 {
		have, _ := c.have()
		c.malformed("want the end of the line, have %s", have)
	}
}

// open enters an array ('[') or object ('{').
func (c *jsonCursor) open(bracket byte, what string) {
	if c.failed() {
		return
	}
	if c.peek() != bracket {
		c.want(what)
		return
	}
	c.pos++
	c.opened = true
}

// more reports whether another element follows, having passed the comma before
// it or the bracket that ends the array or object.
func (c *jsonCursor) more(bracket byte) bool {
	if c.failed() {
		return false
	}
	first := c.opened
	c.opened = false
	switch next := c.peek(); {
	case next == bracket:
		c.pos++
		return false
	case first:
		return true
	case next == ',':
		c.pos++
		return true
	}
	have, _ := c.have()
	c.malformed("want ',' or '%c', have %s", bracket, have)
	return false
}

// item passes to the next element of an array that must have one.
func (c *jsonCursor) item(array string) {
	if !c.more(']') {
		c.fail("too short, want %s", array)
	}
}

// noMore passes the end of an array that must have no further element.
func (c *jsonCursor) noMore(array string) {
	if c.more(']') {
		c.fail("too long, want %s", array)
	}
}

// key reads a member's name and the colon after it.
func (c *jsonCursor) key() string {
	if !c.failed() && c.peek() != '"' {
		have, _ := c.have()
		c.malformed("want a name in quotes, have %s", have)
	}
	name := c.text()
	if c.failed() {
		return ""
	}
	if c.peek() != ':' {
		have, _ := c.have()
		c.malformed("want ':', have %s", have)
		return ""
	}
	c.pos++
	return name
}

// text reads a string.
func (c *jsonCursor) text() string {
	if c.failed() {
		return ""
	}
	if c.peek() != '"' {
		c.want("a string")
		return ""
	}
	escaped := false
	for i := c.pos + 1; i < len(c.line); i++ {
		switch ch := c.line[i]; {
		case ch == '\\':
			escaped = true
			i++
		case ch == '"':
			return c.unquote(i+1, escaped)
		case ch < ' ':
			c.pos = i
			c.malformed("control character %q in a string", rune(ch))
			return ""
		}
	}
	c.pos = len(c.line)
	c.malformed("a string without end")
	return ""
}

// unquote takes the string from the cursor to end.
func (c *jsonCursor) unquote(end int, escaped bool) string {
	literal := c.line[c.pos:end]
	if escaped {
		return c.unescape(literal)
	}
	c.pos = end
	text := literal[1 : len(literal)-1]
	if common, is := commonTexts[string(text)]; is {
		return common
	}
	return string(text)
}

// unescape takes the string that a literal with escapes is. Its result needs memory.
func (c *jsonCursor) unescape(literal []byte) (s string) {
	if json.Unmarshal(literal, &s) != nil {
		c.malformed("a string with a malformed escape")
		return ""
	}
	c.pos += len(literal)
	return s
}

// commonTexts are the texts that most lines have, which need no memory each time.
var commonTexts = map[string]string{}

func init() {
	for i := range lineTable.members {
		commonTexts[lineTable.members[i].name] = lineTable.members[i].name
	}
	for _, word := range slices.Concat(spec.ActionNames(), spec.BlockStateNames()) {
		commonTexts[word] = word
	}
	for kind := range kinds {
		commonTexts[string(kind)] = string(kind)
	}
}

// truth reads true or false.
func (c *jsonCursor) truth() bool {
	switch {
	case c.failed():
	case c.peek() == 't' && c.startsWith("true"):
		c.pos += len("true")
		return true
	case c.startsWith("false"):
		c.pos += len("false")
	default:
		c.want("true or false")
	}
	return false
}

// oneOf reads a string that is one of the given words and returns which.
func (c *jsonCursor) oneOf(words ...string) int {
	start := c.pos
	got := c.text()
	for i, w := range words {
		if w == got {
			return i
		}
	}
	if !c.failed() {
		c.pos = start
		c.peek()
		c.fail("%q is not one of %s", shorten(got), strings.Join(words, ", "))
	}
	return 0
}

// number reads a number of any form and returns its text.
func (c *jsonCursor) number(what string) []byte {
	if c.failed() {
		return nil
	}
	if ch := c.peek(); ch != '-' && !isDigit(ch) {
		c.want(what)
		return nil
	}
	end := scanNumber(c.line, c.pos)
	if end < 0 {
		c.malformed("a malformed number")
		return nil
	}
	return c.line[c.pos:end]
}

// scanNumber returns where the number at start ends, -1 if it is malformed.
func scanNumber(b []byte, start int) int {
	at := func(i int) byte {
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	digits := func(i int) int {
		for isDigit(at(i)) {
			i++
		}
		return i
	}
	i := start
	if at(i) == '-' {
		i++
	}
	whole := i
	if i = digits(i); i == whole || (at(whole) == '0' && i > whole+1) {
		return -1
	}
	if at(i) == '.' {
		fraction := i + 1
		if i = digits(fraction); i == fraction {
			return -1
		}
	}
	if at(i) == 'e' || at(i) == 'E' {
		i++
		if at(i) == '+' || at(i) == '-' {
			i++
		}
		exponent := i
		if i = digits(i); i == exponent {
			return -1
		}
	}
	return i
}

func isDigit(ch byte) bool { return '0' <= ch && ch <= '9' }

// unsigned reads a whole number of 0 to 2^64-1: an address or a handle.
func (c *jsonCursor) unsigned() uint64 {
	const what = "a whole number"
	text := c.number(what)
	if c.failed() {
		return 0
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		c.fail("%s is not %s of 0 to 2^64-1", shorten(string(text)), what)
		return 0
	}
	c.pos += len(text)
	return n
}

// size reads a whole number of 0 to 2^63-1: bytes, an index, or an id.
func (c *jsonCursor) size() uint64 {
	text := c.number("a whole number")
	if c.failed() {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || text[0] == '-' {
		c.fail("%s is not a whole number of 0 to 2^63-1", shorten(string(text)))
		return 0
	}
	c.pos += len(text)
	return uint64(n)
}

// signed reads a whole number of -2^63 to 2^63-1.
func (c *jsonCursor) signed() int64 {
	text := c.number("a whole number")
	if c.failed() {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		c.fail("%s is not a whole number of -2^63 to 2^63-1", shorten(string(text)))
		return 0
	}
	c.pos += len(text)
	return n
}

// float reads a number of any form.
func (c *jsonCursor) float() float64 {
	text := c.number("a number")
	if c.failed() {
		return 0
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		c.fail("%s is too large", shorten(string(text)))
		return 0
	}
	c.pos += len(text)
	return f
}

// skip passes any value.
func (c *jsonCursor) skip(depth int) {
	switch ch := c.peek(); {
	case c.failed():
	case depth > maxDepth:
		c.fail("nested more than %d deep", maxDepth)
	case ch == '{':
		for c.open('{', "an object"); c.more('}'); {
			c.key()
			c.skip(depth + 1)
		}
	case ch == '[':
		for c.open('[', "an array"); c.more(']'); {
			c.skip(depth + 1)
		}
	case ch == '"':
		c.text()
	case ch == 't' || ch == 'f':
		c.truth()
	case ch == 'n' && c.startsWith("null"):
		c.pos += len("null")
	default:
		c.pos += len(c.number("a value"))
	}
}

// shorten keeps a piece of the input that goes into a message from being as long
// as the input.
func shorten(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	cut := most
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "..."
}

// appendText appends s as a JSON string. What is not ASCII stays as it is.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch ch := s[i]; {
		case ch == '"' || ch == '\\':
			b = append(b, '\\', ch)
		case ch == '\n':
			b = append(b, `\n`...)
		case ch < ' ':
			b = fmt.Appendf(b, `\u%04x`, ch)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
