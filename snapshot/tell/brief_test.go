package tell_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

// TestBrief: the three lines say what the verdict says, and JSON has the same.
func TestBrief(t *testing.T) {
	for _, test := range []struct {
		name    string
		options compare.Options
		want    brief.Lines
	}{
		{"gpt_oom7.default.limit", compare.Options{AsRecorded: true}, brief.Lines{
			Happened: "Out of memory at request 7187: asked for 361.82 MiB, 3.89 GiB allocated, limit 4.26 to 4.33 GiB",
			Cause:    "fragmentation: at least 377.58 MiB left, 349.58 MiB of it in pieces of at most 17.00 MiB",
			Try:      "export PYTORCH_ALLOC_CONF=expandable_segments:True   # if the limit is 4.31 GiB or more",
		}},
		{"gpt_varlen.default.nolimit", compare.Options{Settings: []string{""}}, brief.Lines{
			Happened: "No request fails: 6.06 GiB reserved, 4.15 GiB allocated at the peaks",
			Cause:    "32 % of the peak reserved is not allocated",
			Try:      "nothing: no other settings are clearly better",
		}},
		{"gpt_varlen.default.nolimit", compare.Options{Settings: []string{""}, Limit: 2 * spec.GiB}, brief.Lines{
			Happened: "Predicted: out of memory at request 234: asked for 179.44 MiB, 1.78 GiB allocated, limit 2.00 GiB",
			Cause:    "a true shortage: 4.15 GiB is needed at one time, 2.15 GiB more than there is",
			Try:      "smaller batches, or free memory earlier: no setting suffices",
		}},
	} {
		w := workloadOf(t, test.name)
		c, err := compare.Compare(w, test.options)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(c).Brief(); got != test.want.Fit() {
			t.Errorf("%s: %q", test.name, got)
		}
		var object struct{ Brief brief.Lines }
		if written, err := json.Marshal(told(c)); err != nil || json.Unmarshal(written, &object) != nil || object.Brief != told(c).Brief() {
			t.Errorf("%s: JSON has %q, %v", test.name, object.Brief, err)
		}
	}
}

// TestBriefOfAll: whatever the input, each line fits, no line is empty but the cause of a run that
// cannot be repeated, and a table fits a terminal and keeps its last column.
func TestBriefOfAll(t *testing.T) {
	files, _ := filepath.Glob("testdata/snapshots/*.pickle.gz")
	more, _ := filepath.Glob("../../../shared/reports*/*.pickle")
	small, _ := filepath.Glob("../../../shared/reports/*.json")
	for _, file := range append(append(files, more...), small...) {
		f, err := snapshot.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		w, err := play.FromSnapshot(f, history.ChooseDevice(f))
		if err != nil {
			continue // there is nothing to compare
		}
		c, err := compare.Compare(w, compare.Options{AsRecorded: true})
		if err != nil {
			t.Fatal(err)
		}
		lines := told(c).Brief()
		var out strings.Builder
		lines.Write(&out, nil)
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line)-1 > brief.Columns {
				t.Errorf("%s: %q", file, line)
			}
		}
		if lines.Happened == "" || lines.Try == "" && c.Recommended() != nil {
			t.Errorf("%s: %q", file, lines)
		}
		for _, width := range []int{60, 80, 200} {
			table := told(c).Table(tell.TableOptions{Width: width, All: true})
			if n := text.LongestLineLen(table); n > width || !strings.Contains(table, "out of memory") || strings.Contains(table, " \n") {
				t.Errorf("%s: at %d columns the table has %d:\n%s", file, width, n, table)
			}
		}
	}
}

// TestBriefIsShortened: a line that is too long ends with dots, and labels count.
func TestBriefIsShortened(t *testing.T) {
	long := strings.Repeat("ä", 120)
	l := brief.Lines{Happened: long, Cause: long, Try: long}
	var out strings.Builder
	l.Write(&out, func(s string) string { return "<" + s + ">" })
	want := fmt.Sprintf("<%s...>\nCause: %s...\nTry:   <%s...>\n", strings.Repeat("ä", 97), strings.Repeat("ä", 90), strings.Repeat("ä", 90))
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	if brief.Fits(strings.Repeat("x", 94)) || !brief.Fits(strings.Repeat("x", 93)) {
		t.Error("what fits a line is wrong")
	}
}
