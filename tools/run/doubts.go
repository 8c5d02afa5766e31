package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/internal/brief"
)

// counts are reads of a count by which PyTorch allocates: a wrong one gives wrong sizes.
var counts = []string{"nonzero", "unique", "count of", "_coalesce"}

// doubts are the lines that say what the answer rests on that only a GPU would have told.
func (a *Answer) doubts() (lines []string) {
	for _, line := range []string{a.untried(), a.NoValues} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	all, sizes := a.decided()
	if all == 0 {
		return lines
	}
	text := fmt.Sprintf("%d decisions rest on unknown values, %d of them sizes", all, sizes)
	if all == 1 {
		text = "1 decision rests on an unknown value" + map[bool]string{true: ", a size", false: ", no size"}[sizes == 1]
	}
	return append(lines, text+": "+a.named(brief.Columns-len(prefix+": ")-len(text)))
}

// decided is how many decisions rest on unknown values, and how many of them are sizes.
func (a *Answer) decided() (all, sizes int) {
	for what, n := range a.Decisions {
		all += n
		_, kind, _ := strings.Cut(what, " ")
		if slices.ContainsFunc(counts, func(c string) bool { return strings.Contains(kind, c) }) {
			sizes += n
		}
	}
	return all, sizes
}

// named names the lines that decide most often, as far as they have room.
func (a *Answer) named(room int) string {
	lines := slices.SortedFunc(maps.Keys(a.Decisions), func(x, y string) int {
		return cmp.Or(a.Decisions[y]-a.Decisions[x], strings.Compare(x, y))
	})
	text := short(lines[0], room)
	if others := len(lines) - 1; others > 0 {
		more := fmt.Sprintf(", and %d more", others)
		text = short(lines[0], room-len(more)) + more
	}
	return text
}
