package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/brief"
	"gaugeblock/internal/race"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// aSize is a size, or a share, as texts have it.
var aSize = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(\x{a0}%| (bytes|KiB|MiB|GiB))`)

// checkBrief checks three lines against the long text: they fit, a cause is that of a failure, and their sizes
// are in the text.
func checkBrief(t *testing.T, what string, l brief.Lines, failed bool, text string) {
	t.Helper()
	var out strings.Builder
	l.Write(&out, nil)
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line)-1 > brief.Columns || strings.HasSuffix(line, "...\n") {
			t.Errorf("%s: %q", what, line)
		}
	}
	if l.Happened == "" || l.Try == "" || l.Cause != "" && !failed || l.Cause != "" && l.Peak+l.Diff != "" {
		t.Errorf("%s: failed: %v, %q", what, failed, l)
	}
	if says := strings.Contains(l.Happened, "ut of memory") && !strings.Contains(l.Happened, "No rank") && !strings.Contains(l.Happened, "Neither"); says != failed {
		t.Errorf("%s: failed: %v, %q", what, failed, l.Happened)
	}
	for _, size := range aSize.FindAllString(out.String(), -1) {
		if !strings.Contains(text, size) {
			t.Errorf("%s: %s of %q is not in the text: %q", what, size, l, text)
		}
	}
}

// longText is what is told of a report.
func longText(d *Data) string {
	if d.Brief == nil {
		return d.Verdict
	}
	return d.Verdict + d.WhatIf.Details + fmt.Sprint(*d.Brief)
}

// allReports are the reports of every snapshot that can be read, of this tree and of the folder shared beside it: of
// some unless all rows are asked for.
func allReports(t *testing.T) (list []*Data) {
	t.Helper()
	for _, pattern := range []string{
		"../tell/testdata/snapshots/*.gz", "../tell/testdata/late/*.gz", "testdata/small.json", "../testdata/pinned-2.15.pickle", "../../../shared/reports*/*.json", "../../../shared/reports-more/*.pickle",
		"../../../shared/reports-more/titan_folder/*/*.pickle", "../../../shared/hostile/*", "../../../shared/snapshots-*/*.pickle.gz", "../../../shared/snapshots/*.pickle.gz",
	} {
		files, _ := filepath.Glob(pattern)
		for i, path := range files {
			if allrows.Without(i, 6) {
				continue
			}
			f, err := snapshot.Open(path)
			if err != nil || len(f.DeviceTraces) > 0 && len(f.DeviceTraces[0]) > 25_000 {
				continue
			}
			options := Options{Title: filepath.Base(path), Device: history.ChooseDevice(f), Share: 2}
			if w, err := play.FromSnapshot(f, options.Device); err == nil && len(list)%5 != 4 { // some are not compared
				if options.Comparison, err = compare.Compare(w, compare.Options{AsRecorded: true, Settings: []string{"", "expandable_segments:True"}}); err != nil {
					t.Fatal(path, err)
				}
			}
			if d, err := Build(f, options); err == nil {
				list = append(list, d)
			}
		}
	}
	least := 8 // of this tree
	if _, err := os.Stat("../../../shared/snapshots"); err == nil {
		least = 20
	}
	if allrows.Asked() && len(list) < least {
		t.Fatalf("%d reports, want %d", len(list), least)
	}
	return list
}

// TestBriefsOfAll: the three lines of each two snapshots, of ranks and of iterations fit, have a cause only of a
// failure, and say the same sizes as their long texts.
func TestBriefsOfAll(t *testing.T) {
	if race.Enabled {
		t.Skip("goroutines share nothing here")
	}
	list := allReports(t)
	for i, a := range list {
		for _, step := range []int{0, 1, 7} {
			b := list[(i+step)%len(list)]
			c := Compare(a, b)
			checkBrief(t, a.Title+" and "+b.Title, c.Brief, a.failed() || b.failed(), c.Verdict+longText(b))
		}
		ranks := &RankBuilder{}
		var names []string
		var builders []*RankBuilder
		var ofShown *Data
		for k := range 3 {
			d := list[(i+k)%len(list)]
			ranks.Add(fmt.Sprintf("rank%d_%s", k, d.Title), d)
			names = append(names, fmt.Sprintf("step%d/rank0.pickle", k))
			one := &RankBuilder{}
			one.Add(names[k], d)
			if builders = append(builders, one); ofShown == nil || !ofShown.failed() || d.failed() {
				ofShown = d
			}
		}
		worst := list[(i+ranks.Worst())%len(list)]
		r := ranks.Ranks(nil, worst)
		text := r.Verdict + longText(worst)
		if r.Against != nil {
			for _, row := range r.Against.lines {
				text += spec.FormatSize(row.A[0]) + ", " + spec.FormatSize(row.B[0]) + "; "
			}
		}
		checkBrief(t, "ranks from "+a.Title, r.Brief, ranks.Failed() || worst.failed(), text)
		shown := 2
		for k := range 3 {
			if list[(i+k)%len(list)] == ofShown {
				shown = k
			}
		}
		it := IterationsOf(GroupByIteration(names), builders, shown, ofShown)
		checkBrief(t, "iterations from "+a.Title, it.Brief, ofShown.failed(), it.Verdict+longText(ofShown))
	}
}
