package instrument

import (
	"cmp"
	"slices"
	"strings"
)

// An edit replaces the bytes from begin to end of a text. Edits of one place are applied in the
// order in which they were added, but those that close an expression before those that open one,
// the inner one first.
type edit struct {
	begin, end int
	text       string
	closes     bool
	order      int
}

// edits are those of one file.
type edits struct{ list []edit }

func (e *edits) replace(begin, end int, text string) {
	e.list = append(e.list, edit{begin: begin, end: end, text: text, order: len(e.list)})
}

func (e *edits) insert(at int, text string) { e.replace(at, at, text) }

// wrap puts texts around an expression. An outer expression is wrapped before an inner one.
func (e *edits) wrap(begin, end int, before, after string) {
	e.insert(begin, before)
	e.list = append(e.list, edit{begin: end, end: end, text: after, closes: true, order: -len(e.list)})
}

// apply is the part of a text from begin to end, with the edits in it.
func (e *edits) apply(source string, begin, end int) string {
	inside := slices.DeleteFunc(slices.Clone(e.list), func(x edit) bool { return x.begin < begin || x.end > end })
	slices.SortStableFunc(inside, func(a, b edit) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.order, b.order))
	})
	var text strings.Builder
	at := begin
	for _, x := range inside {
		text.WriteString(source[at:x.begin])
		text.WriteString(x.text)
		at = x.end
	}
	text.WriteString(source[at:end])
	return text.String()
}

func rank(x edit) int {
	if x.closes {
		return 0
	}
	return 1
}
