package run

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaugeblock/internal/brief"
	"github.com/dustin/go-humanize/english"
)

// counts are reads of a count by which PyTorch allocates: a wrong one gives wrong sizes.
var counts = []string{"nonzero", "unique", "count of", "_coalesce"}

// Doubts are the lines that say of the process that reserved most what the answer rests on.
func (r *Result) Doubts() (lines []string) {
	process, _ := r.Worst()
	if process == nil {
		return nil
	}
	if n := len(r.Unanswered); n > 0 {
		lines = append(lines, fmt.Sprintf("%s of %d that used a GPU ended without an answer, and may have needed more", english.Plural(n, "process", ""), n+len(r.Processes)))
	}
	for _, line := range append(process.doubts(), r.assumedLine(process)) {
		if line != "" {
			lines = append(lines, line)
		}
	}
	for i := range r.Processes {
		if other := r.Processes[i].elsewhere(); other != "" {
			lines = append(lines, other)
		}
	}
	return lines
}

// doubts are the lines that say what the answer rests on that only a GPU would have told.
func (a *Answer) doubts() (lines []string) {
	for _, line := range []string{a.untried(), a.NoValues} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	lines = append(lines, a.CuDNN.doubts()...)
	all, sizes := a.decided()
	if all == 0 {
		return lines
	}
	text := fmt.Sprintf("%d decisions rest on unknown values, %d of them sizes", all, sizes)
	if all == 1 {
		text = "1 decision rests on an unknown value" + map[bool]string{true: ", a size", false: ", no size"}[sizes == 1]
	}
	lines = append(lines, text+": "+named(a.Decisions, brief.Columns-len(prefix+": ")-len(text)))
	if len(a.Turned) > 0 {
		const waited = "loops that waited for unknown values were taken to end (--patience): "
		lines = append(lines, waited+named(a.Turned, 2*brief.Columns-len(prefix+prefix+waited)))
	}
	return lines
}

// doubts are the lines about workspaces that are not known, and what makes them known.
func (c *CuDNN) doubts() (lines []string) {
	if c.WithoutLibrary > 0 {
		lines = append(lines, countAsNone(c.WithoutLibrary, "mostly convolutions"))
		switch {
		case !c.There:
			lines = append(lines, "to know them: pip install --no-deps "+c.Wheel)
		case c.Off:
			lines = append(lines, "NVIDIA's library is there: leave out --cudnn none")
		default:
			lines = append(lines, "NVIDIA's library is there, but could not be used: a line above says why")
		}
	}
	if c.NotCompiled > 0 {
		lines = append(lines, countAsNone(c.NotCompiled, "not compiled"),
			"to know them: pip install --no-deps "+c.Compiler)
	}
	if c.Estimated > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d workspaces of cuDNN are estimates, the largest %s", c.Estimated, c.Asked, size(c.LargestEstimate)))
	}
	return lines
}

func countAsNone(plans int, what string) string {
	return fmt.Sprintf("cuDNN's workspaces count as 0 (%s, %s): peaks may be far too low", english.Plural(plans, "plan", "plans"), what)
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

// named names the lines with the largest counts, as far as they have room.
func named(counted map[string]int, room int) string {
	lines := slices.SortedFunc(maps.Keys(counted), func(x, y string) int {
		return cmp.Or(counted[y]-counted[x], strings.Compare(x, y))
	})
	text := short(lines[0], room)
	if others := len(lines) - 1; others > 0 {
		more := fmt.Sprintf(", and %d more", others)
		text = short(lines[0], room-len(more)) + more
	}
	return text
}
