package torch

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/conformance/perform"
	"gaugeblock/internal/kept"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// TestProgramsAreAsBefore: what is recorded of programs that are made up is as it was, whatever the difference is in which
// they end: what the program has done up to then (facts), what a stand-in for PyTorch did beside the reference, with a
// mistake or without, and what it did alone.
func TestProgramsAreAsBefore(t *testing.T) {
	wasNew, wasRelease := newPyTorch, loadedRelease
	t.Cleanup(func() { newPyTorch, loadedRelease = wasNew, wasRelease })
	const length = 70
	var told strings.Builder
	mistakes := []string{"", "larger", "figures", "layout", "reorders", "refuses", "forgets"}
	releases := []string{"2.9", "2.12", "2.15"}
	number := 0
	for _, area := range comparableAreas() {
		for _, seed := range []uint64{4, 9, 17, 36, 44, 70} { // of each kind: exposes, invalidates, withReserve
			number++
			release, known := upstream.Find(releases[number%len(releases)])
			if !known {
				t.Fatal(releases)
			}
			loadedRelease = func() string { return release.Name }
			h, ops, err := madeUp(area, seed, Conditions{Release: release.Name, Length: length, Every: 5}, length, func(*trace.Op, *perform.Result) {})
			must(t, err)
			fmt.Fprintf(&told, "%s, seed %d, %s: facts", area, seed, release.Name)
			for _, at := range []int{length / 3, length / 2, length} {
				m, err := before(&Outcome{Header: h, Ops: ops[:at], Difference: &Difference{Operation: at, Op: "end"}})
				must(t, err)
				m.facts.owners = nil // these have pointers
				fmt.Fprintf(&told, " %s", kept.Sum(fmt.Sprintf("%+v %+v %+v %+v %v %v %+v %+v", m.facts, m.filled, m.pools, m.unmarked, m.captured, m.strict, m.config, m.before)))
			}
			mistake := mistakes[number%len(mistakes)]
			newPyTorch = standInFactory(release, mistake)
			o, err := performLooking(conformance.Find(area), h, ops, 3, func(int) {})
			must(t, err)
			expected, err := json.Marshal(o.Ops)
			must(t, err)
			fmt.Fprintf(&told, "; %q beside it %d operations, %s, row %q, listed %v, %s", mistake, o.Operations, kept.Sum(string(expected)), o.Row, o.Listed, inWordsOf(o.Difference))
			first, err := performed(area, h, ops, length/2)
			must(t, err)
			fmt.Fprintf(&told, "; by the reference alone %d", len(first))
			j := job{Area: area, Header: h, Ops: ops, Conditions: Conditions{Every: 4}}
			answer, err := j.alone(&place{new([3]uint64)})
			must(t, err)
			fmt.Fprintf(&told, "; alone %d, %s\n", len(answer.Made), kept.Sum(fmt.Sprintf("%v %v %v %+v", answer.Made, answer.Numbers, answer.Texts, answer.Last)))
		}
	}
	kept.Compare(t, filepath.Join("testdata", "programs"), told.String())
}

func inWordsOf(d *Difference) string {
	if d == nil {
		return "no difference"
	}
	return fmt.Sprintf("%s, lost ranges %v", d.Error(), d.lostRanges)
}
