package trace

import "strings"

// TraceFieldNames are the names of all fields of lines after the header, in the
// order in which they are written.
func TraceFieldNames() (names []string) {
	for i := range lineTable.members {
		names = append(names, lineTable.members[i].name)
	}
	return names
}

// TraceKindFields are the names of a kind's own fields.
func TraceKindFields(kind OpKind) (must, may []string) {
	return strings.Fields(kinds[kind].v2.must), strings.Fields(kinds[kind].v2.may)
}

// TraceHeaderNames are the names of all fields of the header.
func TraceHeaderNames() (names []string) {
	for i := range headerTable.members {
		names = append(names, headerTable.members[i].name)
	}
	return names
}

// LimitTraceLive sets how many numbers may be in use, and returns how many might be
// before.
func LimitTraceLive(t *Reader, n int) (before int) {
	before, t.refs.limit = t.refs.limit, n
	return before
}
