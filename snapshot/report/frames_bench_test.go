package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// manyEntries is a snapshot with so many entries: blocks of many call sites are allocated and freed, and
// their number goes up and down.
func manyEntries(entries int) *snapshot.File {
	const size, perSegment, most = 2 << 20, 10, 9000
	var contexts []*snapshot.Context
	for i := range 800 {
		contexts = append(contexts, &snapshot.Context{Frames: snapshot.Frames{
			{Filename: fmt.Sprintf("torch/nn/modules/m%d.py", i%40), Line: i, Name: "forward"}, {Filename: fmt.Sprintf("train%d.py", i%9), Line: i % 60, Name: "step"},
		}})
	}
	var trace []snapshot.TraceEntry
	add := func(action spec.Action, at spec.Ptr, bytes uint64, context int) {
		trace = append(trace, snapshot.TraceEntry{TraceEntry: spec.TraceEntry{Action: action, Addr: at, Size: bytes}, TimeUS: int64(len(trace) + 1), Context: contexts[context]})
	}
	var live, free []spec.Ptr
	random, next := uint32(1), spec.Ptr(1<<40)
	draw := func(n int) int { random = random*1664525 + 1013904223; return int(random>>8) % n }
	for len(trace) < entries {
		growing := len(trace)/20000%2 == 0
		if len(live) > 0 && (len(live) == most || draw(100) < 45 || !growing && draw(100) < 20) {
			k := draw(len(live))
			at := live[k]
			live[k], live = live[len(live)-1], live[:len(live)-1]
			free = append(free, at)
			add(spec.ActionFreeRequested, at, size, 0)
			add(spec.ActionFreeCompleted, at, size, 0)
			continue
		}
		if len(free) == 0 {
			add(spec.ActionSegmentAlloc, next, perSegment*size, 0)
			for range perSegment {
				free = append(free, next)
				next += size
			}
		}
		at := free[len(free)-1]
		free, live = free[:len(free)-1], append(live, at)
		add(spec.ActionAlloc, at, size, draw(len(contexts)))
	}
	return &snapshot.File{DeviceTraces: [][]snapshot.TraceEntry{trace}, Segments: endOf(trace)}
}

// endOf are the segments after a history.
func endOf(trace []snapshot.TraceEntry) []spec.Segment {
	b := &builder{trace: trace}
	s := newAllocatorState(nil, b.settings, newSiteTable(nil))
	s.sites = nil
	for i := range trace {
		s.add(i, &trace[i])
	}
	return s.segments(0)
}

// BenchmarkFrames measures in a browser how smoothly the page of a snapshot with a million entries is
// used: frames a second, and the milliseconds of the median and of the longest one.
func BenchmarkFrames(b *testing.B) {
	program := browser(b)
	data, err := Build(manyEntries(1_000_000), Options{Title: "device 0"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		for name, m := range framesOf(b, program, pageOf(data)) {
			b.ReportMetric(m.Second, name+"-frames/s")
			b.ReportMetric(m.Median, name+"-median-ms")
			b.ReportMetric(m.Longest, name+"-longest-ms")
		}
	}
}

type frames struct{ Second, Median, Longest float64 }

// framesOf lets a browser use the page.
func framesOf(b *testing.B, program string, page *Page) map[string]frames {
	var measured map[string]frames
	drive(b, program, page, "frames.js", nil, &measured)
	return measured
}

// drive shows a page in a browser, beside a script of testdata that is given a value as GIVEN, and reads what the
// script posts.
func drive(t testing.TB, program string, page *Page, script string, given, result any) {
	t.Helper()
	var html bytes.Buffer
	if err := Write(&html, page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", script))
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(html.String())
	values, _ := json.Marshal(given)
	posted := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			posted <- body
			return
		}
		fmt.Fprintf(w, "<!doctype html><meta charset=utf-8><body><script>const PAGE = %s, GIVEN = %s;\n%s</script></body>", quoted, values, text)
	}))
	defer server.Close()
	shown := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1250,950", "--remote-debugging-port=0", "--user-data-dir="+browserFolder(t), server.URL)
	if err := shown.Start(); err != nil {
		t.Fatal(err)
	}
	defer shown.Wait()
	defer shown.Process.Kill()
	if body := <-posted; json.Unmarshal(body, result) != nil {
		t.Fatalf("%s", body)
	}
}
