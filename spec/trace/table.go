package trace

import (
	"strconv"
	"strings"
)

// Every JSON object of a trace is described once, by a table of its members that
// serves both reading and writing: a name, how its value is read, how it is
// written, and whether it has the value that an absent member would have.

// jsonTable describes the objects that a T is recorded as.
type jsonTable[T any] struct {
	what    string // what such an object is, for messages
	members []jsonMember[T]
	byName  map[string]int // index into members
}

// jsonMember is one member of an object. Members are written in the table's order.
type jsonMember[T any] struct {
	name   string
	read   func(c *jsonCursor, v *T)
	append func(b []byte, v *T) []byte
	absent func(v *T) bool // leaving it out and reading it back gives the same
}

// jsonMembers is a set of members of one table, bit i for members[i].
type jsonMembers uint64

func newJSONTable[T any](what string, members []jsonMember[T]) *jsonTable[T] {
	t := &jsonTable[T]{what: what, members: members, byName: make(map[string]int, len(members))}
	for i := range members {
		t.byName[members[i].name] = i
	}
	if len(members) > 64 || len(t.byName) != len(members) {
		panic("spec: table of " + what + ": too many members, or two of one name")
	}
	return t
}

// set is the members of the given names, separated by spaces.
func (t *jsonTable[T]) set(names string) (s jsonMembers) {
	for _, name := range strings.Fields(names) {
		i, ok := t.byName[name]
		if !ok {
			panic("spec: table of " + t.what + ": no member " + name)
		}
		s |= 1 << i
	}
	return s
}

// all is the set of all members.
func (t *jsonTable[T]) all() jsonMembers { return 1<<len(t.members) - 1 }

// first is the name of the first member in the set, "" if there is none.
func (t *jsonTable[T]) first(s jsonMembers) string {
	if s == 0 {
		return ""
	}
	for i := range t.members {
		if s&(1<<i) != 0 {
			return t.members[i].name
		}
	}
	return ""
}

// read reads an object and returns which members it had.
func (t *jsonTable[T]) read(c *jsonCursor, v *T) (seen jsonMembers) {
	for c.open('{', "an object"); c.more('}'); {
		c.peek()
		start := c.pos
		name := c.key()
		if c.failed() {
			break
		}
		i, known := t.byName[name]
		if !known || seen&(1<<i) != 0 {
			c.pos = start
			if known {
				c.fail("field %q is there twice", name)
			} else {
				c.fail("unknown field %q in %s", shorten(name), t.what)
			}
			break
		}
		seen |= 1 << i
		c.path = append(c.path, name)
		t.members[i].read(c, v)
		c.path = c.path[:len(c.path)-1]
	}
	return seen
}

// readWhole reads an object that must have the given members.
func (t *jsonTable[T]) readWhole(c *jsonCursor, v *T, must jsonMembers) {
	seen := t.read(c, v)
	if missing := t.first(must &^ seen); missing != "" {
		c.fail("%s without %q", t.what, missing)
	}
}

// write appends an object with the members of must, and those of may that are not
// absent.
func (t *jsonTable[T]) write(b []byte, v *T, must, may jsonMembers) []byte {
	b = append(b, '{')
	first := true
	for i := range t.members {
		m := &t.members[i]
		if must&(1<<i) == 0 && (may&(1<<i) == 0 || m.absent(v)) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendText(b, m.name)
		b = append(b, ':')
		b = m.append(b, v)
	}
	return append(b, '}')
}

// present is the set of members that are not absent.
func (t *jsonTable[T]) present(v *T) (s jsonMembers) {
	for i := range t.members {
		if !t.members[i].absent(v) {
			s |= 1 << i
		}
	}
	return s
}

// The common kinds of member. at says where in a T the value lives.

// wholeMember is a number of 0 to 2^63-1.
func wholeMember[T any, N ~int | ~int64 | ~uint64](name string, at func(*T) *N) jsonMember[T] {
	return jsonMember[T]{
		name:   name,
		read:   func(c *jsonCursor, v *T) { *at(v) = N(c.size()) },
		append: func(b []byte, v *T) []byte { return appendWhole(b, *at(v)) },
		absent: func(v *T) bool { return *at(v) == 0 },
	}
}

// handleMember is a number of 0 to 2^64-1 that only the driver can make sense of.
func handleMember[T any, N ~uint64](name string, at func(*T) *N) jsonMember[T] {
	m := wholeMember(name, at)
	m.read = func(c *jsonCursor, v *T) { *at(v) = N(c.unsigned()) }
	return m
}

// textMember is a string.
func textMember[T any, S ~string](name string, at func(*T) *S) jsonMember[T] {
	return jsonMember[T]{
		name:   name,
		read:   func(c *jsonCursor, v *T) { *at(v) = S(c.text()) },
		append: func(b []byte, v *T) []byte { return appendText(b, string(*at(v))) },
		absent: func(v *T) bool { return *at(v) == "" },
	}
}

// wordMember is a string that is one of a few.
func wordMember[T any, S ~string](name string, at func(*T) *S, words ...string) jsonMember[T] {
	m := textMember(name, at)
	m.read = func(c *jsonCursor, v *T) { *at(v) = S(words[c.oneOf(words...)]) }
	return m
}

// flagMember is true or false.
func flagMember[T any](name string, at func(*T) *bool) jsonMember[T] {
	return jsonMember[T]{
		name:   name,
		read:   func(c *jsonCursor, v *T) { *at(v) = c.truth() },
		append: func(b []byte, v *T) []byte { return strconv.AppendBool(b, *at(v)) },
		absent: func(v *T) bool { return !*at(v) },
	}
}

// listMember is an array. Nil and empty are the same, and are read as nil.
func listMember[T, E any](name string, at func(*T) *[]E, read func(*jsonCursor) E, write func([]byte, E) []byte) jsonMember[T] {
	return jsonMember[T]{
		name: name,
		read: func(c *jsonCursor, v *T) {
			if elements := readList(c, read); len(elements) > 0 {
				*at(v) = elements
			}
		},
		append: func(b []byte, v *T) []byte { return appendList(b, *at(v), write) },
		absent: func(v *T) bool { return len(*at(v)) == 0 },
	}
}

// optionalListMember is an array of which nil says that it is not known.
func optionalListMember[T, E any](name string, at func(*T) *[]E, read func(*jsonCursor) E, write func([]byte, E) []byte) jsonMember[T] {
	m := listMember(name, at, read, write)
	m.read = func(c *jsonCursor, v *T) { *at(v) = readList(c, read) }
	m.absent = func(v *T) bool { return *at(v) == nil }
	return m
}
