package replay

import (
	"reflect"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// compareLayouts finds the first segment that differs, and in it the first line
// of its description that does.
func compareLayouts(want, got []spec.Segment) *Difference {
	same := 0
	for same < len(want) && same < len(got) && sameSegment(&want[same], &got[same]) {
		same++
	}
	if same == len(want) && same == len(got) {
		return nil
	}
	w, g := segmentLines(want, same), segmentLines(got, same)
	line := 0
	for line < len(w) && line < len(g) && w[line] == g[line] {
		line++
	}
	d := differs("layout", lineAt(w, line), lineAt(g, line))
	d.LayoutDiff = diffAround(want, got, same)
	return d
}

func sameSegment(a, b *spec.Segment) bool {
	if !slices.Equal(a.Blocks, b.Blocks) {
		return false
	}
	x, y := *a, *b
	x.Blocks, y.Blocks = nil, nil
	return reflect.DeepEqual(x, y)
}

// segmentLines describes the i-th segment and its blocks; nil if there is none.
func segmentLines(layout []spec.Segment, i int) []string {
	if i >= len(layout) {
		return nil
	}
	return trace.LayoutInLines(layout[i : i+1])
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return "nothing more"
	}
	return strings.TrimSpace(lines[i])
}

// diffAround shows the i-th segments and their neighbours as go-cmp does. go-cmp
// writes some spaces as no-break spaces, now and then, lest its output be taken
// for stable; here they are plain.
func diffAround(want, got []spec.Segment, i int) string {
	window := func(layout []spec.Segment) []line {
		var lines []line
		for _, text := range trace.LayoutInLines(layout[min(max(i-1, 0), len(layout)):min(i+2, len(layout))]) {
			lines = append(lines, line{text})
		}
		return lines
	}
	return strings.ReplaceAll(cmp.Diff(window(want), window(got)), "\u00a0", " ")
}

// line is a line of a diff. Having these two methods, go-cmp takes it as a whole
// and does not look for what two lines have in common.
type line struct{ text string }

func (l line) Equal(other line) bool { return l == other }

func (l line) String() string { return l.text }

// CompareLayouts finds the first thing that differs between two layouts, in words; what is
// empty if they are equal.
func CompareLayouts(want, got []spec.Segment) (what, expected, found string) {
	if d := compareLayouts(want, got); d != nil {
		return d.Field, d.Expected, d.Got
	}
	return "", "", ""
}
