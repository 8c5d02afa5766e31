package tell_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"gaugeblock/internal/allrows"
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
			Peak:     "at request 9965: 1.06 GiB of it in 16 blocks of 67.59 MiB; 1.91 GiB more is reserved",
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

// TestBriefOfPeak: a program without trouble is told where its peak is and what holds most of it.
func TestBriefOfPeak(t *testing.T) {
	for _, test := range []struct{ file, happened, second string }{
		{"../../../shared/snapshots/gpt_frames.default.nolimit.pickle.gz", "No request fails: 5.39 GiB reserved, 4.25 GiB allocated at the peaks", "at request 7187: train.py:25 holds 1.49 GiB of it; 1.14 GiB more is reserved"},
		{"testdata/late/detect.default.nolimit.pickle.gz", "No request fails: 1.15 GiB reserved, 518.04 MiB allocated at the peaks", "at request 1235: programs.py:50 holds 412.18 MiB of it; 655.96 MiB more is reserved"},
		{"testdata/late/detect_late.default.nolimit.pickle.gz", "No request fails in this part of the run: 1.15 GiB reserved, 518.04 MiB allocated at the peaks", "at request 547: programs.py:50 holds 379.18 MiB of it; 655.96 MiB more is reserved"},
		{"../../../shared/snapshots/gpt_varlen.default.limit.pickle.gz", "No request fails, after 2 retries at the limit: 4.96 GiB reserved, 4.15 GiB allocated at the peaks", "at request 9965: 1.06 GiB of it in 16 blocks of 67.59 MiB; 822.08 MiB more is reserved"},
		{"../../../shared/snapshots-late/gather.default.nolimit.pickle.gz", "No request fails: 638.00 MiB reserved, 319.68 MiB allocated at the peaks", "at workloads2.py:74: workloads2.py:70 holds 198.00 MiB of it; 318.32 MiB more is reserved"},
		{"../../../shared/snapshots-late/gather_late.default.nolimit.pickle.gz", "No request fails in this part of the run: 480.00 MiB reserved, 316.53 MiB allocated at the peaks", "198.00 MiB of it from before the record begins; 163.47 MiB more is reserved"},
		{"../../../shared/reports-more/fmt_annotate.pickle", "No request fails, after 1 retry at the limit: 800.00 MiB reserved, 800.00 MiB allocated at the peaks", "train.py:20 holds 600.00 MiB of it; hardly any more is reserved"},
		{"../../../shared/reports-more/zero_free.pickle", "Out of memory at load.py:5: asked for 500.00 MiB, 0 bytes allocated", "a full device: none of its memory is left for the allocator of this process"},
	} {
		f, err := snapshot.Open(test.file)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skipf("%s is in the folder shared beside the project", test.file)
		}
		if err != nil {
			t.Fatal(err)
		}
		w, err := play.FromSnapshot(f, history.ChooseDevice(f))
		if err != nil {
			t.Fatal(err)
		}
		c, err := compare.Compare(w, compare.Options{AsRecorded: true, Settings: []string{""}})
		if err != nil {
			t.Fatal(err)
		}
		if got := told(c).Brief(); got.Happened != test.happened || cmp.Or(got.Peak, got.Cause) != test.second || got.Cause == "" == (got.Peak == "") {
			t.Errorf("%s: %q", test.file, got)
		}
	}
}

// TestBriefOfAll: whatever the input, each line fits, the sizes of what happened and why are those of the long
// text, no line is empty but the cause of a run that cannot be repeated, and a table fits a terminal and keeps its
// last column.
func TestBriefOfAll(t *testing.T) {
	files, _ := filepath.Glob("testdata/snapshots/*.pickle.gz")
	more, _ := filepath.Glob("../../../shared/reports*/*.pickle")
	small, _ := filepath.Glob("../../../shared/reports/*.json")
	hostile, _ := filepath.Glob("../../../shared/hostile/xss.json")
	others, _ := filepath.Glob("../../../shared/snapshots-*/*.pickle.gz")
	for i, file := range slices.Concat(files, more, small, hostile, others) {
		if allrows.Without(i, 6) {
			continue
		}
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
		if fails := c.Failing() != nil; lines.Cause != "" && !fails || lines.Peak != "" && fails {
			t.Errorf("%s: %q", file, lines)
		}
		long := told(c).Verdict() + told(c).Details()
		for _, size := range regexp.MustCompile(`[0-9]+(\.[0-9]+)? (bytes|KiB|MiB|GiB)`).FindAllString(lines.Happened+lines.Cause, -1) {
			if !strings.Contains(long, size) {
				t.Errorf("%s: %s of %q is not in the long text: %s", file, size, lines, long)
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
