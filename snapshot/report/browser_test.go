package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"gaugeblock/internal/allrows"
	"gaugeblock/snapshot"
	"gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// browser is a program that can show a page without a screen.
func browser(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no browser")
	return ""
}

// browserFolder is a folder for a browser, whose processes may write there for a moment after it has ended.
func browserFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gaugeblock-browser")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 100 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error(err)
	})
	return dir
}

// TestPageInBrowser uses pages of each kind, wide and narrow: nothing is cut off, and no
// script fails.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes a while")
	}
	program := browser(t)
	for name, page := range browserPages(t) {
		if !allrows.Asked() && name != "hostile" && name != "snapshot" && name != "ranks" {
			continue
		}
		widths := []int{380}
		if name == "snapshot" {
			widths = append(widths, 1200)
		}
		for _, width := range widths {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				if found := lookAt(t, program, page, width); found != "nothing is wrong" {
					t.Error(found)
				}
			})
		}
	}
}

// browserPages are a page of a snapshot with other settings, of two devices with call stacks,
// of two snapshots, and of the ranks of a run.
func browserPages(t *testing.T) map[string]*Page {
	t.Helper()
	f := open(t, "../tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	workload, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	comparison, err := compare.Compare(workload, compare.Options{AsRecorded: true})
	if err != nil {
		t.Fatal(err)
	}
	data, err := Build(f, Options{Title: "device 0", Comparison: comparison})
	if err != nil {
		t.Fatal(err)
	}
	small := build(t, open(t, "testdata/small.json"))
	other := build(t, open(t, "../tell/testdata/snapshots/two_streams.default.nolimit.pickle.gz"))
	ranks := &RankBuilder{}
	for i, d := range []*Data{data, small, other} {
		ranks.Add(fmt.Sprintf("rank%d_of_a_run_with_a_long_name_that_does_not_fit.pickle", i), d)
	}
	long := &snapshot.File{Segments: []spec.Segment{{Address: 1 << 40, TotalSize: 1 << 20, Blocks: []spec.Block{{
		Address: 1 << 40, Size: 1 << 20, RequestedSize: 1 << 20, State: spec.ActiveAllocated,
		Context: snapshot.Frames{{Filename: "/a/very/long/path/" + string(bytes.Repeat([]byte("x"), 150)) + ".py", Line: 1, Name: string(bytes.Repeat([]byte("f"), 150))}},
	}}}}}
	hostile := build(t, hostileSnapshot())
	return map[string]*Page{
		"hostile":  {Source: hostileName, Reports: []*Data{hostile, hostile}, Compared: Compare(hostile, hostile), Notes: []string{hostileName}},
		"snapshot": pageOf(data),
		"host":     pageOf(build(t, open(t, "../testdata/pinned-2.15.pickle"))),
		"devices":  {Source: "devices.pickle", Reports: []*Data{small, data, build(t, long)}, Shown: 1},
		"two":      {Source: "a and b", Reports: []*Data{other, data}, Shown: 1, Compared: Compare(other, data)},
		"ranks":    {Source: "ranks", Reports: []*Data{data, small, other}, Ranks: ranks.Ranks([]int{0, 1, 2}, data), Notes: []string{"rank3.pickle is left out"}},
	}
}

// hostileName runs a script wherever a page takes it for markup.
const hostileName = "</script><img src=x onerror=parent.stolen=1>\"'`\u2028\u2029<script>parent.stolen=1</script><svg onload=parent.stolen=1>${parent.stolen=1}"

// hostileSnapshot is a snapshot whose every text is such a name.
func hostileSnapshot() *snapshot.File {
	context := &snapshot.Context{Frames: snapshot.Frames{{Filename: hostileName, Line: 1, Name: hostileName}}, CompileContext: hostileName, UserMetadata: hostileName}
	entry := func(action spec.Action, at spec.Ptr, size uint64) snapshot.TraceEntry {
		return snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: at, Size: size}, TimeUS: 1000, Context: context}
	}
	const at, size = 1 << 40, 20 << 20
	f := &snapshot.File{
		Segments: []spec.Segment{{Address: at, TotalSize: size, PoolKind: spec.LargePool, Context: context.Frames, Blocks: []spec.Block{
			{Address: at, Size: size / 2, RequestedSize: size / 2, State: spec.ActiveAllocated, Context: context.Frames}, {Address: at + size/2, Size: size / 2},
		}}},
		DeviceTraces:      [][]snapshot.TraceEntry{{entry(spec.ActionSegmentAlloc, at, size), entry(spec.ActionAlloc, at, size/2), entry(spec.ActionOOM, 0, 1<<40)}},
		AllocatorSettings: &snapshot.AllocatorSettings{Conf: hostileName},
	}
	for _, stage := range []string{"START", "END"} {
		f.ExternalAnnotations = append(f.ExternalAnnotations, spec.Annotation{TimeNS: 1_000_000, Fields: []spec.AnnotationField{{Key: "name", Value: hostileName}, {Key: "stage", Value: stage}}})
	}
	return f
}

var lookedAt = regexp.MustCompile(`(?s)LOOKED AT: (.*?)\.</body>`)

// lookAt uses a page, and returns what is wrong with it.
func lookAt(t *testing.T, program string, page *Page, width int) string {
	t.Helper()
	var html bytes.Buffer
	if err := Write(&html, page); err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(html.String())
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("testdata", "browser.js"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "look.html")
	text := fmt.Sprintf("<!doctype html><meta charset=utf-8><body><script>const PAGE = %s, WIDTH = %d;\n%s</script></body>", quoted, width, script)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,3000", "--virtual-time-budget=10000",
		"--user-data-dir="+browserFolder(t), "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found := lookedAt.FindSubmatch(out)
	if found == nil {
		t.Fatalf("the page was not looked at: %d bytes", len(out))
	}
	return string(found[1])
}
