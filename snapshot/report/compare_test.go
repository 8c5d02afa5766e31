package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/brief"
	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// held is a snapshot without history in which lines of code hold memory: "file:line function".
func held(blocks map[string]uint64) *snapshot.File {
	f := &snapshot.File{}
	s := spec.Segment{Address: 1 << 40, PoolKind: spec.LargePool}
	for _, name := range []string{"a", "b", "moved", "moved2", "grown", "new", "gone", ""} {
		bytes, there := blocks[name]
		if !there {
			continue
		}
		b := spec.Block{Address: s.Address + spec.Ptr(s.TotalSize), Size: bytes, RequestedSize: bytes, State: spec.ActiveAllocated}
		if name != "" {
			line := 10
			if name == "moved2" {
				line = 12
			}
			b.Context = snapshot.Frames{{Filename: "/run/" + fmt.Sprint(len(blocks)) + "/code/train.py", Line: line, Name: strings.TrimSuffix(name, "2")}}
		}
		s.Blocks = append(s.Blocks, b)
		s.TotalSize += bytes
	}
	f.Segments = []spec.Segment{s}
	return f
}

func buildNamed(t *testing.T, f *snapshot.File, title string) *Data {
	t.Helper()
	d, err := Build(f, Options{Title: title, Share: 2})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCompare: sites are found by file, function and line, whatever the folder; a line that
// moved is found by its function; the largest change is first.
func TestCompare(t *testing.T) {
	const MiB = 1 << 20
	a := buildNamed(t, held(map[string]uint64{"a": 5 * MiB, "moved": 7 * MiB, "grown": 1 * MiB, "gone": 2 * MiB}), "before")
	b := buildNamed(t, held(map[string]uint64{"a": 5 * MiB, "moved2": 8 * MiB, "grown": 21 * MiB, "new": 3 * MiB, "": MiB}), "after")
	c := Compare(a, b)
	var got []string
	for i := range c.Rows {
		r := &c.Rows[i]
		got = append(got, fmt.Sprintf("%s: %d to %d, line %d to %d", c.siteInText(r), r.A[0]/MiB, r.B[0]/MiB, r.Lines[0], r.Lines[1]))
	}
	want := []string{
		"grown (train.py:10): 1 to 21, line 10 to 10",
		"new (train.py:10): 0 to 3, line 10 to 10",
		"gone (train.py:10): 2 to 0, line 10 to 10",
		"moved (train.py:12): 7 to 8, line 10 to 12",
		"Allocations of 1024.00 KiB to 2.00 MiB without call stack: 0 to 1, line 0 to 0",
		"a (train.py:10): 5 to 5, line 10 to 10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	says := "At its peak after has 38.00 MiB allocated, 23.00 MiB more than before (153.3\u00a0%). It has 38.00 MiB reserved, 23.00 MiB more than before (153.3\u00a0%)." +
		" grown (train.py:10) grew by 20.00 MiB, from 1024.00 KiB to 21.00 MiB. new (train.py:10) grew by 3.00 MiB, from 0 bytes to 3.00 MiB. gone (train.py:10) shrank by 2.00 MiB, from 2.00 MiB to 0 bytes."
	if c.Verdict != says {
		t.Errorf("says %q, want %q", c.Verdict, says)
	}
	want3 := brief.Lines{
		Happened: "Neither ran out of memory: after has 38.00 MiB allocated at its peak, 23.00 MiB more than before",
		Diff:     "train.py:10 grew by 20.00 MiB, from 1024.00 KiB to 21.00 MiB", Try: "look first at train.py:10",
	}
	if c.Brief != want3 {
		t.Errorf("%q", c.Brief)
	}
	b.Summary.OOMs, b.Summary.Settings, b.WhatIf = 1, "a:1", &WhatIf{Cause: "fragmentation"}
	b.Brief = &brief.Lines{Happened: "Out of memory at x.py:1", Cause: "fragmentation: ...", Try: "export X"}
	want3 = brief.Lines{
		Happened: "Only after ran out of memory: it has 38.00 MiB allocated at its peak, 23.00 MiB more than before",
		Cause:    "fragmentation; from the default settings to a:1; train.py:10 grew by 20.00 MiB", Try: "export X",
	}
	if got := Compare(a, b).Brief; got != want3 {
		t.Errorf("%q", got)
	}
	if got := Compare(b, a).Brief; got.Try != "keep the default settings, with which no request of the second failed" || !strings.HasPrefix(got.Happened, "Only after ran out of memory: before did not, with 15.00 MiB") {
		t.Errorf("%q", got)
	}
}

// TestCompareWithItself: nothing changed.
func TestCompareWithItself(t *testing.T) {
	for _, file := range recordedRuns(t)[:4] {
		a, b := buildRun(t, file), build(t, open(t, file))
		c := Compare(a, b)
		sum := uint64(0)
		for _, r := range c.Rows {
			sum += r.A[0]
			if r.A != r.B || r.EndA != r.EndB {
				t.Errorf("%s: %+v", file, r)
			}
		}
		if sum != a.Summary.PeakAllocated && c.More == 0 {
			t.Errorf("%s: the sites hold %d of %d bytes", file, sum, a.Summary.PeakAllocated)
		}
	}
}

// TestRanks: the worst rank is one that ran out of memory, or else the one with the most
// reserved; it is compared with the one in the middle.
func TestRanks(t *testing.T) {
	const GiB = 1 << 30
	rank := func(allocated, reserved uint64, ooms int) *Data {
		d := buildNamed(t, held(map[string]uint64{"a": allocated}), "")
		d.Summary.PeakAllocated, d.Summary.PeakReserved, d.Summary.OOMs = allocated, reserved, ooms
		return d
	}
	r := &RankBuilder{}
	for i, d := range []*Data{rank(4*GiB, 5*GiB, 0), rank(5*GiB, 8*GiB, 0), rank(6*GiB, 7*GiB, 0), rank(4*GiB, 6*GiB, 0), rank(5*GiB, 6*GiB, 0)} {
		r.Add(fmt.Sprintf("iteration_100/rank%d_snapshot.pickle", []int{10, 2, 0, 1, 9}[i]), d)
	}
	got := r.Ranks(nil, nil)
	numbers := ""
	for _, k := range got.List {
		numbers += fmt.Sprint(k.Number, " ")
	}
	if numbers != "0 1 2 9 10 " || got.List[got.Worst].Number != 2 || got.List[got.Middle].Number != 9 {
		t.Errorf("ranks %s, the worst is %d, the middle %d", numbers, got.List[got.Worst].Number, got.List[got.Middle].Number)
	}
	says := "Of 5 ranks rank 2 is the worst: 5.00 GiB allocated and 8.00 GiB reserved at its peaks." +
		" The peak allocated is from 4.00 GiB (rank 1) to 6.00 GiB (rank 0), the largest 20.0\u00a0% above the median." +
		" The peak reserved is from 5.00 GiB (rank 10) to 8.00 GiB (rank 2), the largest 33.3\u00a0% above the median." +
		" The worst rank does not allocate more than the median: what it has more is reserved and not allocated, which is fragmentation or cache."
	if got.Verdict != says {
		t.Errorf("says %q, want %q", got.Verdict, says)
	}
	if got.Against == nil || got.Against.A != "rank 9" || got.Against.B != "rank 2" {
		t.Errorf("compared: %+v", got.Against)
	}
	r.Add("rank3.pickle", rank(3*GiB, 4*GiB, 1))
	got = r.Ranks(nil, nil)
	if got.List[got.Worst].Number != 3 || !strings.Contains(got.Verdict, "rank 3 is the worst: it ran out of memory, with 3.00 GiB") {
		t.Errorf("%d is the worst: %s", got.List[got.Worst].Number, got.Verdict)
	}
}

// TestRankNumbers: numbers are taken for ranks only where the names of all files say so.
func TestRankNumbers(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []int
	}{
		{[]string{"rank3.pickle", "iteration_10/rank0_memory_snapshot.pickle", "Rank-12.json", "rank_7/snapshot_99.pickle", "other_1.pickle"}, []int{3, 0, 12, 7, -1}},
		{[]string{"rank99999999999999999999.pickle"}, []int{999999999}},
		{[]string{"snapshot_4.pickle.gz", "snapshot_10.pickle.gz"}, []int{4, 10}},
		{[]string{"gpt_oom7.default.limit.pickle.gz", "gpt_oom7.gc.limit.pickle.gz", "gpt_oom7.split128.limit.pickle.gz"}, []int{-1, -1, -1}},
		{[]string{"node0/rank0.pickle", "node1/rank0.pickle"}, []int{-1, -1}},
		{[]string{"a_4.pickle", "a_04.pickle"}, []int{-1, -1}},
		{[]string{"snapshot_4.pickle", "snapshot.pickle"}, []int{-1, -1}},
		{[]string{"gpt_oom7.pickle"}, []int{-1}},
	} {
		if diff := cmp.Diff(c.want, rankNumbers(c.names)); diff != "" {
			t.Errorf("%q: (-want +got):\n%s", c.names, diff)
		}
	}
}

// TestRanksOfRuns: snapshots of other runs are named by their files, and that their settings
// differ is said. What the worst has more is only that.
func TestRanksOfRuns(t *testing.T) {
	r := &RankBuilder{}
	for name, blocks := range map[string]map[string]uint64{
		"gpt7.default.pickle":   {"a": 9 << 20, "gone": 5 << 20},
		"gpt7.split128.pickle":  {"a": 20 << 20, "gone": 4 << 20},
		"gpt7.split128b.pickle": {"a": 9 << 20, "gone": 6 << 20},
	} {
		d := buildNamed(t, held(blocks), "")
		if strings.Contains(name, "split") {
			d.Summary.Settings = "max_split_size_mb:128"
		}
		r.Add(name, d)
	}
	got := r.Ranks(nil, nil)
	for _, part := range []string{"Of 3 ranks gpt7.split128.pickle is the worst", "The ranks have different settings: max_split_size_mb:128; the default settings."} {
		if !strings.Contains(got.Verdict, part) {
			t.Errorf("%q is not in %q", part, got.Verdict)
		}
	}
	if len(got.Against.Rows) != 1 || got.Against.Rows[0].change() != 11<<20 {
		t.Errorf("%+v", got.Against.Rows)
	}
}

// TestComparedFirst: what changed begins with the settings, and which of the two ran out of
// memory; a change that cannot be seen in the figures has no sentence.
func TestComparedFirst(t *testing.T) {
	a := buildNamed(t, held(map[string]uint64{"a": 1117 << 20}), "A")
	b := buildNamed(t, held(map[string]uint64{"a": 1116 << 20}), "B")
	a.Summary.OOMs, b.Summary.Settings = 1, "expandable_segments:True"
	says := Compare(a, b).Verdict
	if !strings.HasPrefix(says, "The settings changed: A has the default settings, and B has expandable_segments:True. A ran out of memory (1 request failed), and B did not. At its peak B has") || strings.Contains(says, "shrank") {
		t.Error(says)
	}
	a.Summary.OOMs, b.Summary.OOMs, b.Summary.Settings = 2, 1, ""
	if says := Compare(a, b).Verdict; !strings.HasPrefix(says, "Both ran out of memory (A: 2 requests failed; B: 1 request failed). At its peak B has") {
		t.Error(says)
	}
}

// TestOneRank: there is nothing to compare it with.
func TestOneRank(t *testing.T) {
	r := &RankBuilder{}
	r.Add("rank0.pickle", buildNamed(t, held(map[string]uint64{"a": 512}), ""))
	if got := r.Ranks(nil, nil); got.Against != nil || len(got.List) != 1 || !strings.HasPrefix(got.Verdict, "There is one rank: ") {
		t.Errorf("%+v", got)
	}
}

// TestSitesWithoutStack: those that differ in their category alone are compared as one.
func TestSitesWithoutStack(t *testing.T) {
	site := func(c category, peak, end uint64) (s siteTotals) {
		s.category, s.peak[0], s.end[0] = c, peak, end
		return s
	}
	for _, test := range []struct{ sites, want []siteTotals }{
		{[]siteTotals{site(parameters, 3, 5), site(activations, 20, 40)}, []siteTotals{site(uncategorized, 23, 45)}},
		{[]siteTotals{site(parameters, 30, 5), site(activations, 20, 0)}, []siteTotals{site(uncategorized, 50, 5)}},
	} {
		joined := joinCategories(test.sites)
		if len(joined) != 1 || joined[0].peak != test.want[0].peak || joined[0].end != test.want[0].end || joined[0].category != uncategorized {
			t.Errorf("%+v", joined)
		}
		if weight := joined[0].weight(); weight != max(joined[0].peak[0], joined[0].end[0]) {
			t.Errorf("its weight is %d", weight)
		}
	}
}

// TestDevicesOfPage: a page has sixteen devices, with the chosen one.
func TestDevicesOfPage(t *testing.T) {
	f := &snapshot.File{}
	for dev := range 20 {
		f.Segments = append(f.Segments, spec.Segment{Device: spec.Device(dev)})
	}
	for _, chosen := range []spec.Device{0, 7, 18} {
		devices, more := Devices(f, chosen)
		if len(devices) != maxDevices || more != 4 || !slices.Contains(devices, chosen) {
			t.Errorf("of device %d: %v and %d more", chosen, devices, more)
		}
	}
	f.Segments = f.Segments[:16]
	if devices, more := Devices(f, 3); len(devices) != 16 || more != 0 {
		t.Errorf("%v and %d more", devices, more)
	}
}

// TestVerdictOfRanks: who ran out of memory, and when the worst rank is said not to allocate more
// than others.
func TestVerdictOfRanks(t *testing.T) {
	build := func(peaks ...Summary) *RankBuilder {
		r := &RankBuilder{}
		for i, s := range peaks {
			r.list = append(r.list, Rank{Summary: s})
			r.reports = append(r.reports, &Data{Title: fmt.Sprint("r", i)})
		}
		return r
	}
	if got, want := build(Summary{PeakAllocated: 10, PeakReserved: 20, OOMs: 3}).verdict(0, []int{0}), "There is one rank: it ran out of memory, with 10 bytes allocated and 20 bytes reserved at its peaks."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	three := build(Summary{PeakAllocated: 30, PeakReserved: 95, OOMs: 2}, Summary{PeakAllocated: 40, PeakReserved: 80, OOMs: 1, Settings: "x:1"}, Summary{PeakAllocated: 20, PeakReserved: 90})
	want := "Of 3 ranks r0 is the worst: it and 1 more ran out of memory, with 30 bytes allocated and 95 bytes reserved at its peaks." +
		" The ranks have different settings: the default settings; x:1." +
		" The peak allocated is from 20 bytes (r2) to 40 bytes (r1), the largest 33.3\u00a0% above the median." +
		" The peak reserved is from 80 bytes (r1) to 95 bytes (r0), the largest 5.6\u00a0% above the median." +
		" The worst rank does not allocate more than the median: what it has more is reserved and not allocated, which is fragmentation or cache."
	if got := three.verdict(0, []int{2, 0, 1}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	even := build(Summary{PeakAllocated: 10, PeakReserved: 20}, Summary{PeakAllocated: 10, PeakReserved: 30})
	want = "Of 2 ranks r1 is the worst: 10 bytes allocated and 30 bytes reserved at its peaks. The peak allocated is 10 bytes on all of them." +
		" The peak reserved is from 20 bytes (r0) to 30 bytes (r1), the largest 20.0\u00a0% above the median." +
		" The worst rank does not allocate more than the median: what it has more is reserved and not allocated, which is fragmentation or cache."
	if got := even.verdict(1, []int{0, 1}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, test := range []struct {
		allocated, reserved uint64 // of the worst; the medians are 5000 and 4000
		not                 bool
	}{{5100, 4201, true}, {5101, 4201, false}, {5100, 4200, false}, {6000, 3900, false}} {
		r := build(Summary{PeakAllocated: 1000, PeakReserved: 1100}, Summary{PeakAllocated: 2000, PeakReserved: 3000}, Summary{PeakAllocated: 5000, PeakReserved: 4000},
			Summary{PeakAllocated: test.allocated, PeakReserved: test.reserved}, Summary{PeakAllocated: 9000, PeakReserved: 9500})
		got := r.verdict(3, []int{0, 1, 2, 3, 4})
		if strings.Contains(got, "does not allocate more than the median") != test.not {
			t.Errorf("%d allocated, %d reserved: %s", test.allocated, test.reserved, got)
		}
	}
}
