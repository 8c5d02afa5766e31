package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// TestOutputs: links are followed, whether their targets are absolute or not, and what exists and
// is no file is written into.
func TestOutputs(t *testing.T) {
	folder := t.TempDir()
	page := filepath.Join(folder, "page.html")
	for link, to := range map[string]string{"relative": "page.html", "absolute": page} {
		link = filepath.Join(folder, link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		o, err := OpenOutput(link)
		if err != nil || o.target != page || o.Exists() || o.IsReport() {
			t.Fatalf("%s: %+v, %v", link, o, err)
		}
		if err := o.Write(&Page{}); err != nil {
			t.Fatal(err)
		}
		again, err := OpenOutput(link)
		if err != nil || !again.Exists() || !again.IsReport() {
			t.Errorf("%s: exists %v, is a report %v: %v", link, again.Exists(), again.IsReport(), err)
		}
		if err := os.Remove(page); err != nil {
			t.Fatal(err)
		}
	}
	o, err := OpenOutput(os.DevNull)
	if err != nil || o.Exists() {
		t.Fatalf("%+v, %v", o, err)
	}
	if err := o.Write(&Page{}); err != nil {
		t.Error(err)
	}
	if o, err = OpenOutput(filepath.Join(folder, "none", "page.html")); err != nil {
		t.Fatal(err)
	}
	if err := o.Write(&Page{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "page.html cannot be written") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestDevicesWithHistory: a device is shown if it has segments or a history.
func TestDevicesWithHistory(t *testing.T) {
	f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{{}, {{}}, {}, {{}}}, Segments: []spec.Segment{{Device: 5}}}
	if got, more := Devices(f, 0); !slices.Equal(got, []spec.Device{0, 1, 3, 5}) || more != 0 {
		t.Errorf("%v, and %d more", got, more)
	}
}

// TestSettingsOfRanks: at most four are told.
func TestSettingsOfRanks(t *testing.T) {
	r := &RankBuilder{}
	for _, test := range []struct{ settings, want string }{
		{"a:1", ""}, {"a:1", ""}, {"b:1", " The ranks have different settings: a:1; b:1."}, {"c:1", " The ranks have different settings: a:1; b:1; c:1."},
		{"d:1", " The ranks have different settings: a:1; b:1; c:1; d:1."}, {"e:1", " The ranks have different settings: a:1; b:1; c:1; d:1; and 1 more."},
	} {
		r.list = append(r.list, Rank{Summary: Summary{Settings: test.settings}})
		if got := r.settings(); got != test.want {
			t.Errorf("%d ranks: %q, want %q", len(r.list), got, test.want)
		}
	}
}

// TestKeysOfStacks: stacks that differ in where one text ends and the next begins are different.
func TestKeysOfStacks(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range []snapshot.Frame{{Filename: "ab", Name: "c"}, {Filename: "a", Name: "bc"}, {Filename: "ab", Name: "c", Line: 1}, {Filename: "ab\x00\x01c"}, {Filename: "a", Line: 49, Name: "\x01c"}} {
		seen[keyOf(snapshot.Frames{f}, 0)] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d keys of 5 stacks", len(seen))
	}
}

// TestSitesOfEntries: a site has the call stack of its largest block, and a label what was
// allocated under it.
func TestSitesOfEntries(t *testing.T) {
	table := newSiteTable(nil)
	entry := func(caller string, size uint64) *snapshot.TraceEntry {
		return &snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Size: size}, Context: &snapshot.Context{
			Frames: snapshot.Frames{{Filename: "a.py", Line: 1, Name: "f"}, {Filename: "b.py", Line: 2, Name: caller}}, UserMetadata: "text"}}
	}
	for _, e := range []*snapshot.TraceEntry{entry("small", 512), entry("large", 2048), entry("middle", 1024)} {
		at := table.of(0, e)
		table.allocate(&activeBlock{size: e.Size, requested: e.Size, context: e.Context, site: at})
	}
	if s := table.list[0]; len(table.list) != 1 || s.frames[1].Name != "large" || s.largest != 2048 || s.total != 3584 || s.allocations != 3 {
		t.Errorf("%+v", table.list)
	}
	if l := table.labels[0]; len(table.labels) != 1 || l.total != 3584 || l.allocations != 3 {
		t.Errorf("%+v", l)
	}
}

// TestEndsWithoutStarts: an annotation that ends and did not start is left out.
func TestEndsWithoutStarts(t *testing.T) {
	annotation := func(stage string, us int64) spec.Annotation {
		return spec.Annotation{TimeNS: us * 1000, Fields: []spec.AnnotationField{{Key: "name", Value: "step"}, {Key: "stage", Value: stage}}}
	}
	b := &builder{file: &snapshot.File{ExternalAnnotations: []spec.Annotation{annotation("END", 5), annotation("START", 10), annotation("END", 30), annotation("END", 40)}}}
	for _, us := range []int64{1, 10, 20, 30, 31} {
		b.trace = append(b.trace, snapshot.TraceEntry{TimeUS: us})
	}
	if got := b.spans(); len(got) != 1 || got[0].First != 1 || got[0].Last != 3 {
		t.Errorf("%+v", got)
	}
}

// TestMoreReserved: that more is reserved though no more is allocated is said from 2 % on.
func TestMoreReserved(t *testing.T) {
	for _, test := range []struct {
		allocated, reserved uint64
		said                bool
	}{{1000, 5101, true}, {1000, 5100, false}, {1001, 5101, false}, {900, 6000, true}} {
		a, b := &Data{Summary: Summary{PeakAllocated: 1000, PeakReserved: 5000}}, &Data{Summary: Summary{PeakAllocated: test.allocated, PeakReserved: test.reserved}}
		c := &Compared{A: "A", B: "B"}
		if got := c.verdict(a, b); strings.Contains(got, "fragmentation or cache") != test.said {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// TestMiddleRank: the rank beside the worst one that is more like it, where the worst has the
// median.
func TestMiddleRank(t *testing.T) {
	for _, test := range []struct {
		allocated []uint64 // in order; the worst has the most reserved
		worst     int
		want      int
	}{
		{[]uint64{5}, 0, 0}, {[]uint64{1, 5}, 1, 0}, {[]uint64{1, 5}, 0, 1}, {[]uint64{1, 5, 6}, 1, 2}, {[]uint64{4, 5, 9}, 1, 0}, {[]uint64{1, 5, 9}, 1, 0}, {[]uint64{1, 5, 9}, 2, 1},
	} {
		r := &RankBuilder{}
		var order []int
		for i, bytes := range test.allocated {
			r.list = append(r.list, Rank{Summary: Summary{PeakAllocated: bytes, PeakReserved: 10}})
			order = append(order, i)
		}
		r.list[test.worst].Summary.PeakReserved = 20
		if got := r.middle(order); got != test.want {
			t.Errorf("%v, the worst is %d: %d, not %d", test.allocated, test.worst, got, test.want)
		}
	}
}

// TestLargestSitesOfRank: of many call sites those that hold the most are kept.
func TestLargestSitesOfRank(t *testing.T) {
	d := &Data{Moments: []Moment{{Name: "end"}}}
	for i := range maxSitesOfRank + 5 {
		var s siteTotals
		s.peak[0] = uint64(i)
		d.totals = append(d.totals, s)
	}
	r := &RankBuilder{}
	r.Add("rank0", d)
	if kept := r.reports[0].totals; len(kept) != maxSitesOfRank || kept[0].peak[0] != maxSitesOfRank+4 {
		t.Errorf("%d are kept, the first holds %d", len(kept), kept[0].peak[0])
	}
}

// TestNoHistoryIsComplete: without a history there is nothing that it has lost.
func TestNoHistoryIsComplete(t *testing.T) {
	if d := buildNamed(t, held(map[string]uint64{"a": 512}), "A"); !d.Summary.Complete {
		t.Error("the beginning is missing")
	}
}

// TestMomentMerges: small blocks are merged if there are more blocks than are shown.
func TestMomentMerges(t *testing.T) {
	segments := []spec.Segment{{TotalSize: 2 * spec.MiB, Blocks: []spec.Block{{Size: spec.MiB}, {Size: spec.MiB}}}}
	for limit, want := range map[int]bool{1: true, 2: false, 3: false} {
		b := &builder{data: &Data{}, file: &snapshot.File{}, limits: limits{segments: 10, blocks: limit, mergeShare: 100}}
		state := newAllocatorState(nil, history.DefaultSettings(), nil)
		if m := b.moment("end", "", -1, segments, state); m.Merged != want {
			t.Errorf("%d blocks are shown, and small ones are merged: %v", limit, m.Merged)
		}
	}
}

// TestStatisticsAtStart: what is allocated at the start counts.
func TestStatisticsAtStart(t *testing.T) {
	s := newAllocatorState([]spec.Segment{{TotalSize: 2048, Blocks: []spec.Block{
		{Size: 1024, RequestedSize: 1000, State: spec.ActiveAllocated}, {Address: 1024, Size: 512, RequestedSize: 500, State: spec.ActivePendingFree}, {Address: 1536, Size: 512},
	}}}, history.DefaultSettings(), nil)
	for kind, want := range map[int]uint64{reservedMemory: 2048, activeMemory: 1536, requestedMemory: 1500, activeAllocs: 2, allocatedMemory: 1024, allocations: 1} {
		if got := s.statistics[kind]; got.Current != want || got.Peak != want {
			t.Errorf("statistic %d: %+v, want %d", kind, got, want)
		}
	}
}

// TestManyCompared: of many sites the largest changes are shown; those that hold nothing are not
// counted.
func TestManyCompared(t *testing.T) {
	a, b := &Data{}, &Data{}
	site := func(line int, bytes uint64) (s siteTotals) {
		s.frame = snapshot.Frame{Filename: "a.py", Line: line, Name: fmt.Sprint("f", line)}
		s.frames = snapshot.Frames{s.frame}
		s.peak[0] = bytes
		return s
	}
	for i := range maxCompared + 3 {
		b.totals = append(b.totals, site(i, 1))
	}
	for i := range 4 {
		b.totals = append(b.totals, site(10000+i, 0))
	}
	ends := func(line int) siteTotals {
		s := site(line, 0)
		s.end[0] = 1
		return s
	}
	a.totals, b.totals = append(a.totals, site(20000, 1), ends(20001)), append(b.totals, ends(20002))
	c := compareReports(a, b, func(*ComparedSite) bool { return true })
	if len(c.Rows) != maxCompared || c.More != 6 {
		t.Errorf("%d rows, and %d more", len(c.Rows), c.More)
	}
}

// TestShortenInvalid: a long text of bytes that begin no character leaves nothing.
func TestShortenInvalid(t *testing.T) {
	if got := shorten(strings.Repeat("\x80", 5*maxText)); got != "" {
		t.Errorf("%q", got)
	}
}

// TestGrowthAndLongestSpans: an annotation's growth counts from the entry before its start, and the
// longest spans are shown, in the order of their starts.
func TestGrowthAndLongestSpans(t *testing.T) {
	b := &builder{limits: limits{annotations: 2}, allocated: []uint64{100, 10, 30, 60, 50, 50}, file: &snapshot.File{}}
	for us := range int64(6) {
		b.trace = append(b.trace, snapshot.TraceEntry{})
		b.trace[us].TimeUS = 10 * (us + 1)
	}
	span := func(name string, first, last int64) {
		for _, end := range []struct {
			stage string
			us    int64
		}{{"START", first}, {"END", last}} {
			b.file.ExternalAnnotations = append(b.file.ExternalAnnotations, spec.Annotation{TimeNS: end.us * 1000,
				Fields: []spec.AnnotationField{{Key: "name", Value: name}, {Key: "stage", Value: end.stage}}})
		}
	}
	span("short", 25, 31) // the entry at 30
	span("long", 25, 51)  // the entries at 30, 40 and 50
	span("short", 35, 51) // the entries at 40 and 50
	got := b.annotations()
	want := Annotations{
		Names: []Annotation{{Name: "short", Count: 2, DurationUS: 10, MaxAllocated: 60, MaxGrowth: 20, Entry: 3}, {Name: "long", Count: 1, DurationUS: 20, MaxAllocated: 60, MaxGrowth: 40, Entry: 3}},
		Spans: []Span{{Name: 1, First: 2, Last: 4}, {Name: 0, First: 3, Last: 4}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Span{})); diff != "" {
		t.Error(diff)
	}
}

// TestShortenedTexts: a text that is longer than is shown ends, or begins, with an ellipsis,
// whatever bytes its characters have.
func TestShortenedTexts(t *testing.T) {
	for _, character := range []string{"a", "\u00e4", "\u20ac", "\U0001f600"} {
		for length, cut := range map[int]bool{1: false, maxText - 1: false, maxText: false, maxText + 1: true, 5 * maxText: true} {
			want, wantEnd := strings.Repeat(character, length), strings.Repeat(character, length)
			if cut {
				want, wantEnd = "\u2026"+strings.Repeat(character, maxText-1), strings.Repeat(character, maxText-1)+"\u2026"
			}
			text := strings.Repeat(character, length)
			if got := shorten(text); got != want {
				t.Errorf("%d times %q: %q", length, character, got)
			}
			if got := shortenEnd(text, maxText); got != wantEnd {
				t.Errorf("%d times %q, without its end: %q", length, character, got)
			}
		}
	}
}

// stackOf is a call stack, by line, of which one is the program's own.
func stackOf(length, own int) (list snapshot.Frames) {
	for i := range length {
		list = append(list, snapshot.Frame{Filename: "/lib/site-packages/torch/a.py", Line: i, Name: "f"})
	}
	list[own] = snapshot.Frame{Filename: "train.py", Line: own, Name: "main"}
	return list
}

// upTo lists the numbers below n.
func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// pageBytes are the bytes that stacks have on a page.
func pageBytes(t *testing.T, s *stacks) (bytes int) {
	t.Helper()
	for _, f := range s.Frames {
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(text) + 1
	}
	for _, numbers := range s.Stacks {
		bytes += 6 * len(numbers)
	}
	return bytes
}

// TestFramesOfStacks: which frames of a call stack a page has. The program's own frame is among
// them, however deep the stack is and however many bytes the stacks before have taken.
func TestFramesOfStacks(t *testing.T) {
	cost := func(list snapshot.Frames) int { // of the frames alone
		s := newStacks(1)
		s.add(list)
		return pageBytes(t, &s) - 6*len(list)
	}
	for _, test := range []struct {
		what        string
		bytes       int // that the stacks before have taken
		share       int
		length, own int
		want        []int // the lines of the frames
		leftOut     int
	}{
		{"all", 0, 1, 4, 2, upTo(4), 0},
		{"the most", 0, 1, maxFrames, maxFrames - 1, upTo(maxFrames), 0},
		{"one more", 0, 1, maxFrames + 1, 2, upTo(maxFrames), 1},
		{"one more, which is the program's", 0, 1, maxFrames + 1, maxFrames, append(upTo(maxFrames-1), maxFrames), 1},
		{"the program's is deep", 0, 1, 2 * maxFrames, maxFrames + 7, append(upTo(maxFrames-1), maxFrames+7), 1},
		{"as many bytes as all frames have", twoFramesAbove - cost(stackOf(4, 2)), 1, 4, 2, upTo(4), 0},
		{"a byte more", twoFramesAbove - cost(stackOf(4, 2)) + 1, 1, 4, 2, []int{0, 2}, 1},
		{"a byte more, and the program's is the innermost", twoFramesAbove - cost(stackOf(4, 0)) + 1, 1, 4, 0, []int{0}, 1},
		{"a byte more, and there are two", twoFramesAbove - cost(stackOf(2, 1)) + 1, 1, 2, 1, upTo(2), 0},
		{"two frames", ownFrameAbove, 1, 4, 2, []int{0, 2}, 1},
		{"the program's", ownFrameAbove + 1, 1, 4, 2, []int{2}, 1},
		{"the program's, which is the only one", ownFrameAbove + 1, 1, 1, 0, []int{0}, 0},
		{"the last", noFramesAbove, 1, 4, 2, []int{2}, 1},
		{"none", noFramesAbove + 1, 1, 4, 2, nil, 1},
		{"the page is shared, as many bytes as all frames have", twoFramesAbove/2 - cost(stackOf(4, 2)), 2, 4, 2, upTo(4), 0},
		{"the page is shared, a byte more", twoFramesAbove/2 - cost(stackOf(4, 2)) + 1, 2, 4, 2, []int{0, 2}, 1},
		{"the page is shared, a byte more, and the program's is the innermost", twoFramesAbove/2 - cost(stackOf(4, 0)) + 1, 2, 4, 0, []int{0}, 1},
		{"the page is shared, the program's", ownFrameAbove/2 + 1, 2, 4, 2, []int{2}, 1},
		{"the page is shared, none", noFramesAbove/2 + 1, 2, 4, 2, nil, 1},
	} {
		s := newStacks(test.share)
		s.bytes = test.bytes
		given := stackOf(test.length, test.own)
		at := s.add(given)
		if !slices.Equal(given, stackOf(test.length, test.own)) {
			t.Errorf("%s: the call stack itself has changed", test.what)
		}
		if again := s.add(stackOf(test.length, test.own)); again != at || (at == noStack) != (test.want == nil) || s.LeftOut != test.leftOut {
			t.Errorf("%s: stack %d, the second time %d, %d are left out", test.what, at, again, s.LeftOut)
			continue
		}
		if at == noStack {
			continue
		}
		var got []int
		for _, n := range s.Stacks[at] {
			got = append(got, s.Frames[n].Line)
		}
		if !slices.Equal(got, test.want) || s.Frames[s.Own[at]].Line != test.own {
			t.Errorf("%s: the lines %v, not %v, the program's is %d", test.what, got, test.want, s.Frames[s.Own[at]].Line)
		}
		if want := test.bytes + pageBytes(t, &s); s.bytes != want {
			t.Errorf("%s: %d bytes are counted, not %d", test.what, s.bytes, want)
		}
	}
}

// TestFramesAreShared: frames that another stack has as well are there once, and cost nothing.
func TestFramesAreShared(t *testing.T) {
	frame := func(line int) snapshot.Frame { return snapshot.Frame{Filename: "train.py", Line: line, Name: "f"} }
	s := newStacks(1)
	first := s.add(snapshot.Frames{frame(1), frame(2), frame(3)})
	s.bytes = twoFramesAbove
	second := s.add(snapshot.Frames{frame(3), frame(1), frame(2)})
	third := s.add(snapshot.Frames{frame(3), frame(4), frame(1)})
	want := [][]int{{0, 1, 2}, {2, 0, 1}, {2}}
	if diff := cmp.Diff(want, s.Stacks); diff != "" || first != 0 || second != 1 || third != 2 || len(s.Frames) != 3 || s.LeftOut != 1 {
		t.Errorf("stacks %d, %d and %d of %d frames, %d are left out: %s", first, second, third, len(s.Frames), s.LeftOut, diff)
	}
}

// TestMaximaOfRanges: the maximum of each range of values is the first of the largest.
func TestMaximaOfRanges(t *testing.T) {
	for _, values := range [][]uint64{{5}, {1, 2}, {2, 2, 2, 2}, {9, 1, 2, 3, 9, 8, 7, 6, 9, 9, 1}, {7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8}, {0, 0, 3, 0, 0, 3, 0, 0, 0, 1, 1, 3}} {
		m := newMaxima(values)
		for first := range values {
			for last := first; last < len(values); last++ {
				want := first
				for i := first; i <= last; i++ {
					if values[i] > values[want] {
						want = i
					}
				}
				if got := m.in(first, last); got != want {
					t.Errorf("%v from %d to %d: %d, not %d", values, first, last, got, want)
				}
			}
		}
	}
}

// TestListedOOMs: the first requests that failed are listed, and all are counted.
func TestListedOOMs(t *testing.T) {
	const most = 4                                                        // of a report that shares the page with many
	for _, n := range []int{1, most, most + 1, 2 * most, -1, -most - 1} { // below 0 the history begins with them
		f := &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{nil}}
		add := func(a spec.Action, at spec.Ptr) {
			f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, TimeUS: int64(100 + len(f.DeviceTraces[0])), Context: &snapshot.Context{}})
		}
		first := 0
		if n > 0 {
			add(spec.ActionSegmentAlloc, 1<<30)
			first = 1
		}
		n = max(n, -n)
		for range n {
			add(spec.ActionOOM, 100)
		}
		d, err := Build(f, Options{Share: 100})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.OOMs) != min(n, most) || d.Summary.OOMs != n || d.Summary.Requests != n || d.OOMs[0].Entry != first || d.OOMs[0].TimeUS != int64(first) || d.moment("oom").Entry != first {
			t.Errorf("%d failed: %+v of %d are listed, the first moment is at %d", n, d.OOMs, d.Summary.OOMs, d.moment("oom").Entry)
		}
	}
}

// TestOtherDeviceThanCompared: predictions may be those of one device and the report that of
// another.
func TestOtherDeviceThanCompared(t *testing.T) {
	entry := func(a spec.Action, at spec.Ptr) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: a, Addr: at, Size: 2 * spec.MiB}, Context: &snapshot.Context{}}
	}
	const first, second, before = spec.Ptr(1 << 30), spec.Ptr(2 << 30), spec.Ptr(3 << 30)
	segment := func(device spec.Device, at spec.Ptr) spec.Segment {
		return spec.Segment{Device: device, Address: at, TotalSize: 2 * spec.MiB, PoolKind: spec.LargePool,
			Blocks: []spec.Block{{Address: at, Size: 2 * spec.MiB, RequestedSize: 2 * spec.MiB, State: spec.ActiveAllocated}}}
	}
	f := &snapshot.File{
		DeviceTraces: [][]snapshot.TraceEntry{{entry(spec.ActionSegmentAlloc, first), entry(spec.ActionAlloc, first)}, {entry(spec.ActionSegmentAlloc, second), entry(spec.ActionAlloc, second)}},
		Segments:     []spec.Segment{segment(0, first), segment(1, second), segment(1, before)},
	}
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(w, compare.Options{Settings: []string{""}})
	if err != nil {
		t.Fatal(err)
	}
	for device, want := range []uint64{2 * spec.MiB, 4 * spec.MiB} {
		d, err := Build(f, Options{Device: spec.Device(device), Comparison: comparison})
		if err != nil {
			t.Fatal(err)
		}
		if d.Summary.PeakAllocated != want || d.Summary.Complete != (device == 0) {
			t.Errorf("device %d: %+v", device, d.Summary)
		}
	}
}
