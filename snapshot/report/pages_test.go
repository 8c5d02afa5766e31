package report

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/spec"
)

// fewest are limits of which a small snapshot is over each.
var fewest = limits{
	buckets: 7, series: 2, callSites: 3, segments: 3, blocks: 8, mergeShare: 5, ooms: 1, annotations: 2, allocations: 4, polygons: 2, states: 9,
}

// TestWholePages compares everything of a page with what is written in testdata/pages:
//
//	page FILE [device=N] [fewest] [category=NAME=REGEXP]   the page of a device, in JSON
//	csv FILE                                               the table of its call sites
//	compared                                               two runs, by the lines below: the three lines, the verdict, the call sites
//	ranks                                                  ranks of a run, likewise
//	iterations                                             a rank over time, likewise
//
// A run is a line: its name; settings=TEXT; reserved=MIB; ooms=N; cause=CAUSE, which has a comparison of settings; and
// what call sites hold at the peak, in MiB, as FILE:LINE:FUNCTION=PEAK[/END]. A call site that is named -SIZE has no call
// stack, and start was allocated before the history.
func TestWholePages(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "pages"), func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "page", "csv":
			return wholePage(t, d)
		case "compared":
			runs := madeRuns(t, d.Input)
			return comparedInWords(Compare(runs[0], runs[1]))
		case "ranks":
			r := &RankBuilder{}
			for _, run := range madeRuns(t, d.Input) {
				r.Add(run.Title, run)
			}
			ranks := r.Ranks(nil, withBrief(r.reports[r.Worst()], madeRuns(t, d.Input)))
			against := ""
			if ranks.Against != nil {
				against = comparedInWords(ranks.Against)
			}
			var names []string
			for i, k := range ranks.List {
				names = append(names, fmt.Sprintf("%s is %s (%d, device %d, added %d)", k.Name, ranks.FileOf(i), k.Number, k.Device, k.Added))
			}
			return fmt.Sprintf("%s%s\n%s\nthe worst is %d, the middle one %d\nagainst it:\n%s", briefInLines(ranks.Brief), ranks.Verdict,
				strings.Join(names, "\n"), ranks.Worst, ranks.Middle, against)
		case "iterations":
			return iterationsInWords(t, d.Input)
		}
		return "no such thing"
	})
}

func wholePage(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	f := open(t, filepath.Join("testdata", d.CmdArgs[0].Key))
	o := Options{Title: "device 0", Notes: []string{"a note"}}
	var device int
	var category string
	d.MaybeScanArgs(t, "device", &device)
	d.MaybeScanArgs(t, "category", &category)
	o.Device = spec.Device(device)
	if category != "" {
		name, expression, _ := strings.Cut(category, "=")
		o.Categories = []Pattern{{name, regexp.MustCompile(expression)}}
	}
	l := limitsFor(0)
	if d.HasArg("fewest") {
		l = fewest
	}
	var progress []string
	o.Progress = func(done, of int) { progress = append(progress, fmt.Sprintf("%d of %d", done, of)) }
	data, err := buildWithin(l, f, o)
	if err != nil {
		return err.Error() + "\n"
	}
	if d.Cmd == "csv" {
		var table bytes.Buffer
		if err := WriteCSV(&table, pageOf(data)); err != nil {
			t.Fatal(err)
		}
		return table.String()
	}
	return lines(t, data) + strings.Join(progress, ", ") + "\n"
}

func briefInLines(l brief.Lines) string {
	var b bytes.Buffer
	l.Write(&b, nil)
	return b.String()
}

func comparedInWords(c *Compared) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\n", briefInLines(c.Brief), c.Verdict)
	for i := range c.Rows {
		r := &c.Rows[i]
		fmt.Fprintf(&b, "%s, %s: %v to %v, at the end %v to %v, line %d to %d\n", c.siteInText(r), r.Category, r.A, r.B, r.EndA, r.EndB, r.Lines[0], r.Lines[1])
	}
	if c.More > 0 {
		fmt.Fprintf(&b, "%d more\n", c.More)
	}
	return b.String()
}

// withBrief is the one of the runs that has the title.
func withBrief(of *Data, runs []*Data) *Data {
	for _, run := range runs {
		if run.Title == of.Title || "rank "+run.Title == of.Title {
			return run
		}
	}
	return nil
}

// madeRuns are the runs that the lines tell.
func madeRuns(t *testing.T, text string) (runs []*Data) {
	t.Helper()
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			runs = append(runs, madeRun(t, words))
		}
	}
	return runs
}

func madeRun(t *testing.T, words []string) *Data {
	t.Helper()
	d := &Data{Title: words[0]}
	end := Layout{Name: "end"}
	for _, word := range words[1:] {
		at := strings.LastIndexByte(word, '=')
		key, value := word[:at], word[at+1:]
		number, err := strconv.ParseUint(value, 10, 64)
		switch {
		case strings.HasPrefix(word, "settings="):
			d.Summary.Settings = strings.TrimPrefix(word, "settings=")
		case key == "reserved" && err == nil:
			d.Summary.PeakReserved += number << 20
		case key == "ooms" && err == nil:
			d.Summary.OOMs = int(number)
		case key == "device" && err == nil:
			d.Device = int(number)
		case key == "cause":
			d.Brief = &brief.Lines{Happened: "Out of memory at train.py:7: asked for 2.00 GiB, 7.00 GiB allocated, limit 8.00 GiB", Cause: value + ": because of this", Try: "the settings x:1"}
			d.WhatIf = &WhatIf{Cause: string(compare.Cause(value))}
		default:
			d.totals = append(d.totals, madeSite(t, key, value))
			s := &d.totals[len(d.totals)-1]
			d.Summary.PeakAllocated += s.peak[0]
			end.Allocated += s.end[0]
		}
	}
	d.Summary.PeakReserved += d.Summary.PeakAllocated
	d.Layouts = []Layout{end}
	return d
}

func madeSite(t *testing.T, key, value string) (s siteTotals) {
	t.Helper()
	peak, end, both := strings.Cut(value, "/")
	if !both {
		end = peak
	}
	for at, text := range map[*Holding]string{&s.peak: peak, &s.end: end} {
		mib, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if *at = (Holding{mib << 20, 1}); mib == 0 {
			*at = Holding{}
		}
	}
	switch size, without := strings.CutPrefix(key, "-"); {
	case key == "start":
		s.start = true
	case without:
		n, err := strconv.ParseUint(size, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.size = n
	default:
		parts := strings.Split(key, ":")
		line, err := strconv.Atoi(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		s.frame = snapshot.Frame{Filename: parts[0], Line: line, Name: parts[2]}
		s.frames = snapshot.Frames{&s.frame}
		if len(parts) > 3 {
			s.category = category(parts[3][0] - '0')
		}
	}
	return s
}

func iterationsInWords(t *testing.T, text string) string {
	t.Helper()
	runs := madeRuns(t, text)
	var names []string
	for _, run := range runs {
		names = append(names, run.Title)
	}
	groups := GroupByIteration(names)
	builders := make([]*RankBuilder, len(groups))
	shown, report := 0, (*Data)(nil)
	for i := range groups {
		builders[i] = &RankBuilder{}
		for _, k := range groups[i].Files {
			builders[i].Add(names[k], runs[k])
			if runs[k].Summary.OOMs > 0 || report == nil || report.Summary.OOMs == 0 {
				shown, report = i, runs[k]
			}
		}
	}
	it := IterationsOf(groups, builders, shown, report)
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s\nthe %d. is shown, %s\n", briefInLines(it.Brief), it.Verdict, it.Shown+1, it.Rank)
	for _, i := range it.List {
		fmt.Fprintf(&b, "%s: %d ranks, the worst is %s, with %d bytes at its end, %d failed\n", i.Name, i.Ranks, i.Worst, i.AtEnd, i.Summary.OOMs)
	}
	for i := range it.Growth {
		s := &it.Growth[i]
		fmt.Fprintf(&b, "%s: %v, %.1f an iteration, steady %t\n", it.Stacks.siteInText(s.Stack, s.Start, s.Size), s.AtEnd, s.Slope, s.Steady)
	}
	return b.String()
}

// TestNotesOfPage: a page has its notes, those that are too long shortened, and who wrote it keeps them.
func TestNotesOfPage(t *testing.T) {
	p := pageOf(build(t, open(t, filepath.Join("testdata", "small.json"))))
	long := strings.Repeat("x", maxNote+1)
	p.Notes = []string{"one", long}
	var written bytes.Buffer
	if err := Write(&written, p); err != nil {
		t.Fatal(err)
	}
	if got := pageIn(t, written.String()).Notes; len(got) != 2 || got[0] != "one" || got[1] != long[:maxNote-1]+"\u2026" || p.Notes[1] != long {
		t.Errorf("%.100q", got)
	}
	if got := p.Source; got != "snapshot.pickle" {
		t.Error(got)
	}
}
