package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/snapshot/tell"
	"gaugeblock/spec"
)

func open(t *testing.T, path string) *snapshot.File {
	t.Helper()
	f, err := snapshot.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func build(t *testing.T, f *snapshot.File) *Data {
	t.Helper()
	d, err := Build(f, Options{Title: "device 0"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// built are the reports of recorded runs, each of which several tests look at.
var built = map[string]*Data{}

// buildRun makes the report of a recorded run, once.
func buildRun(t *testing.T, path string) *Data {
	t.Helper()
	if built[path] == nil {
		built[path] = build(t, open(t, path))
	}
	return built[path]
}

// pageOf is the page of one report.
func pageOf(d *Data) *Page { return &Page{Source: "snapshot.pickle", Reports: []*Data{d}} }

// innermost is a list or an object in JSON that has none in it.
var innermost = regexp.MustCompile(`[[{][^][{}]*[]}]`)

// lines writes a value as JSON that can be read, with what is innermost in one line.
func lines(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return innermost.ReplaceAllStringFunc(string(text), func(list string) string {
		inner := strings.Join(strings.Fields(list[1:len(list)-1]), " ")
		return list[:1] + inner + list[len(list)-1:]
	}) + "\n"
}

// TestData compares the data of a small snapshot with values worked out by hand.
func TestData(t *testing.T) {
	datadriven.RunTest(t, filepath.Join("testdata", "data"), func(t *testing.T, d *datadriven.TestData) string {
		data := build(t, open(t, filepath.Join("testdata", "small.json")))
		switch d.Cmd {
		case "summary":
			return lines(t, data.Summary)
		case "timeline":
			return lines(t, data.Timeline)
		case "ooms":
			return lines(t, data.OOMs)
		case "stacks":
			return lines(t, data.Stacks)
		case "sizes":
			return lines(t, data.Sizes)
		case "sites":
			return lines(t, data.Sites)
		case "categories":
			return lines(t, data.Categories)
		case "annotations":
			return lines(t, data.Annotations)
		case "labels":
			return lines(t, data.Labels)
		case "statistics":
			return lines(t, data.Statistics)
		case "layout":
			var name string
			d.ScanArgs(t, "name", &name)
			return lines(t, data.layout(name))
		}
		return "no such thing"
	})
}

// recordedRuns are snapshots with the truth beside them: the project's own, and those in
// the folder shared beside the project, where there is one.
func recordedRuns(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, folder := range []string{"../tell/testdata/snapshots", "../../../shared/snapshots"} {
		found, err := filepath.Glob(filepath.Join(folder, "*.pickle.gz"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 6 {
		t.Fatalf("only %d recorded runs", len(files))
	}
	if testing.Short() {
		return files[:4]
	}
	return files
}

// TestTrueStatistics compares the peaks with those of torch.cuda.memory_stats in the
// recorded runs.
func TestTrueStatistics(t *testing.T) {
	for _, file := range recordedRuns(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".pickle.gz"), func(t *testing.T) {
			var truth struct {
				PeakAllocated uint64 `json:"peak_allocated"`
				PeakReserved  uint64 `json:"peak_reserved"`
				OOMs          int    `json:"num_ooms"`
				Reserved      uint64 `json:"reserved"`
				Allocated     uint64 `json:"allocated"`
				PeakActive    uint64 `json:"peak_active"`
				Allocations   uint64 `json:"allocations"`
			}
			text, err := os.ReadFile(strings.TrimSuffix(file, ".pickle.gz") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &truth); err != nil {
				t.Fatal(err)
			}
			data := buildRun(t, file)
			end := data.layout("end")
			want := []uint64{truth.PeakReserved, uint64(truth.OOMs), truth.Reserved, truth.Allocated}
			got := []uint64{data.Summary.PeakReserved, uint64(data.Summary.OOMs), end.Reserved, end.Allocated}
			if data.Summary.Complete { // else the peak may be before the history
				want, got = append(want, truth.PeakAllocated), append(got, data.Summary.PeakAllocated)
				want, got = append(want, truth.PeakActive), append(got, data.Statistics[activeMemory].Peak)
				want, got = append(want, truth.Allocations), append(got, data.Statistics[allocations].Allocated)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-true +report):\n%s", diff)
			}
			if m := data.layout("peak"); m != nil && m.Allocated != data.Summary.PeakAllocated {
				t.Errorf("%d bytes are allocated in the layout of the peak, and %d at the peak", m.Allocated, data.Summary.PeakAllocated)
			}
			for _, m := range data.Layouts {
				checkLayout(t, &m)
			}
		})
	}
}

// checkLayout: the blocks are the whole segments, and the sums of a segment are right.
func checkLayout(t *testing.T, m *Layout) {
	t.Helper()
	for _, s := range m.Segments {
		sum, inactive := int64(0), uint64(0)
		for _, b := range s.Blocks {
			sum += b[sizeIndex]
			if len(b) == 1 {
				inactive += uint64(b[sizeIndex])
			}
		}
		active := uint64(0)
		for _, site := range s.Sites {
			active += site.Bytes
		}
		switch {
		case uint64(sum) != s.Size:
			t.Errorf("%s, %s: blocks of %d bytes in a segment of %d", m.Name, s.Address, sum, s.Size)
		case !m.Merged && inactive+s.Allocated+s.PendingFree != s.Size:
			t.Errorf("%s, %s: %d inactive, %d allocated and %d pending of %d", m.Name, s.Address, inactive, s.Allocated, s.PendingFree, s.Size)
		case s.MoreSites == 0 && active != s.Allocated+s.PendingFree:
			t.Errorf("%s, %s: %d bytes at allocation sites, and %d are active", m.Name, s.Address, active, s.Allocated+s.PendingFree)
		}
	}
}

// TestWithoutHistory: without history only the end is shown. An empty snapshot is an error.
func TestWithoutHistory(t *testing.T) {
	f := open(t, filepath.Join("testdata", "small.json"))
	data := build(t, &snapshot.File{Segments: f.Segments})
	if len(data.Layouts) != 1 || data.layout("end") == nil || len(data.Timeline.AllocatedMax) != 0 || len(data.Notes) != 1 {
		t.Errorf("layouts %v, timeline %v, notes %q", data.Layouts, data.Timeline, data.Notes)
	}
	if _, err := Build(&snapshot.File{}, Options{}); err == nil {
		t.Error("an empty snapshot is accepted")
	}
	if _, err := Build(f, Options{Device: 5}); err == nil {
		t.Error("a device that is not in the snapshot is accepted")
	}
}

// TestComparison: the page has the predictions of the comparison in its order, and its
// advice.
func TestComparison(t *testing.T) {
	f := open(t, filepath.Join("..", "tell", "testdata", "snapshots", "two_streams.default.nolimit.pickle.gz"))
	workload, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(workload, compare.Options{Settings: []string{"", "expandable_segments:True"}, Limit: 200 << 20})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Build(f, Options{Comparison: comparison})
	if err != nil {
		t.Fatal(err)
	}
	got, told := data.WhatIf, tell.Answer{Comparison: comparison}
	if got.Limit != 200<<20 || data.Verdict != told.Verdict() || got.Details != told.Details() || got.Export != told.Export() {
		t.Errorf("limit %d, advice %q, export %q", got.Limit, data.Verdict, got.Export)
	}
	for i, r := range comparison.Ranked() {
		prediction := got.Predictions[i]
		failed := r.FirstOOM != nil
		reserved, _ := r.PeakReservedRange()
		if prediction.Recommended != (r == comparison.Advised()) || prediction.Settings != r.Settings.Text || prediction.Exact != r.Exact() || (prediction.OOMRequest > 0) != failed || prediction.PeakReserved != [2]uint64{reserved.Low, reserved.High} {
			t.Errorf("prediction %d: %+v", i, prediction)
		}
	}
}

// TestUnknownLimit: where the record leaves the limit open, the page has the range of it, asks
// for it, and the row of the best settings has the figures of a limit that is enough, but the range
// of all, as JSON has it.
func TestUnknownLimit(t *testing.T) {
	f := open(t, filepath.Join("..", "tell", "testdata", "snapshots", "gpt_oom7.default.limit.pickle.gz"))
	workload, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(workload, compare.Options{Settings: []string{"", "expandable_segments:True"}, AsRecorded: true})
	if err != nil {
		t.Fatal(err)
	}
	w := whatIf(comparison)
	if !strings.Contains(w.AskLimit, "--limit=FIGUREGiB") || !strings.Contains(w.LimitNote, "4.26 GiB to 4.33 GiB") {
		t.Errorf("%q, %q", w.AskLimit, w.LimitNote)
	}
	const enough = 4_240_000_000 // the batch that failed was allocated
	if best := w.Predictions[0]; !best.Recommended || !best.DependsOn || best.AllocRetries != 0 || best.PeakAllocated < enough || best.PeakReserved[0] >= best.PeakAllocated {
		t.Errorf("%+v", best)
	}
	if now := w.Predictions[1]; now.DependsOn || now.AllocRetries != 2 {
		t.Errorf("%+v", now)
	}
	text, err := json.Marshal(tell.Answer{Comparison: comparison})
	var object struct {
		Rows []struct {
			Range     [2]uint64 `json:"peak_reserved_range"`
			Allocated uint64    `json:"peak_allocated"`
		} `json:"rows"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &object)); err != nil {
		t.Fatal(err)
	}
	for i, p := range w.Predictions {
		if r := object.Rows[i]; r.Range != p.PeakReserved || r.Allocated != p.PeakAllocated {
			t.Errorf("JSON has %+v, and the page %+v", r, p)
		}
	}
}

// TestHostileNames: for all names of files and functions the page has the markup that
// page.html has, and the names arrive as text.
func TestHostileNames(t *testing.T) {
	names := []string{
		`</script><script>alert(1)</script>`, `<!--<script>`, `"><img src=x onerror=alert(1)>`, `{{script}} {{style}} {{digest}}`,
		"\u2028\u2029\x00\x1b", "\u202Eevil", `\u003c/script\u003e`, "\xff\xfe", strings.Repeat("x", 100_000),
	}
	f := open(t, filepath.Join("testdata", "small.json"))
	for i := range f.Segments {
		for j := range f.Segments[i].Blocks {
			var stack snapshot.Frames
			for _, name := range names {
				stack = append(stack, &snapshot.Frame{Filename: name, Line: -1, Name: name})
			}
			f.Segments[i].Blocks[j].Context = stack
		}
	}
	f.AllocatorSettings = &snapshot.AllocatorSettings{Conf: names[0], Config: spec.DefaultConfig(spec.DefaultGeometry())}
	data, err := Build(f, Options{Title: names[0], Notes: names})
	if err != nil {
		t.Fatal(err)
	}
	var hostile, harmless bytes.Buffer
	page := &Page{Source: strings.Join(names, " "), Reports: []*Data{data, data}, Compared: Compare(data, data), Notes: names}
	ranks := &RankBuilder{}
	ranks.Add(names[0], data)
	ranks.Add(names[4]+"3", data)
	page.Ranks = ranks.Ranks(nil, nil)
	if err := Write(&hostile, page); err != nil {
		t.Fatal(err)
	}
	if err := Write(&harmless, pageOf(build(t, open(t, filepath.Join("testdata", "small.json"))))); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"<", ">", "</script", "<!--"} {
		if got, want := strings.Count(hostile.String(), mark), strings.Count(harmless.String(), mark); got != want {
			t.Errorf("%q comes %d times in the page, %d times without hostile names", mark, got, want)
		}
	}
	if i := strings.IndexFunc(hostile.String(), func(r rune) bool { return r == '\u202E' || unicode.IsControl(r) && r != '\n' }); i >= 0 {
		t.Errorf("a character that cannot be seen: %q", hostile.String()[i:i+8])
	}
	if over := hostile.Len() - harmless.Len(); over > 100_000 {
		t.Errorf("hostile names make the page %d bytes larger", over)
	}
	if diff := cmp.Diff(data.Stacks.Frames, pageIn(t, hostile.String()).Reports[0].Stacks.Frames); diff != "" {
		t.Errorf("names do not arrive (-written +read):\n%s", diff)
	}
}

// pageIn reads the data of a page, as its script does.
func pageIn(t *testing.T, page string) *Page {
	t.Helper()
	_, rest, found := strings.Cut(page, `<script type="application/json" id="data">`)
	text, _, ended := strings.Cut(rest, "</script>")
	if !found || !ended {
		t.Fatal("no data in the page")
	}
	var p Page
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestPeakAtStart: if nothing is allocated in the history, the peak is before its first entry.
func TestPeakAtStart(t *testing.T) {
	f := &snapshot.File{
		DeviceTraces: make([][]snapshot.TraceEntry, 1),
		Segments: []spec.Segment{{Address: 0x200000, TotalSize: 2 << 20, Blocks: []spec.Block{
			{Address: 0x200000, Size: 512, RequestedSize: 512, State: spec.ActiveAllocated},
			{Address: 0x200200, Size: 2<<20 - 512, State: spec.Inactive},
		}}},
	}
	for _, e := range []spec.TraceEntry{
		{Action: spec.ActionFreeRequested, Addr: 0x200000, Size: 1024}, {Action: spec.ActionFreeCompleted, Addr: 0x200000, Size: 1024},
		{Action: spec.ActionAlloc, Addr: 0x200000, Size: 512},
	} {
		f.DeviceTraces[0] = append(f.DeviceTraces[0], snapshot.TraceEntry{TraceEntry: e, Context: &snapshot.Context{}})
	}
	data := build(t, f)
	if s := data.Summary; s.PeakAllocated != 1024 || s.PeakReserved != 2<<20 {
		t.Errorf("%+v", s)
	}
	peak, atPeak := 0, uint64(0)
	for _, bin := range data.Sizes {
		peak += bin.PeakCount
	}
	for _, site := range data.Sites {
		atPeak += site.Peak[0]
	}
	if peak != 1 || atPeak != 1024 {
		t.Errorf("%d blocks are allocated at the peak, of %d bytes", peak, atPeak)
	}
}

// TestOutputFails: a page that cannot get to its place is an error, and leaves nothing.
func TestOutputFails(t *testing.T) {
	dir := t.TempDir()
	o, err := OpenOutput(filepath.Join(dir, "page"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "page"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := o.Write(pageOf(buildRun(t, recordedRuns(t)[0]))); err == nil {
		t.Error("a folder was replaced")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left: %v", left, err)
	}
}
