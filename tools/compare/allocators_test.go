package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/testfolder"
	"gaugeblock/snapshot"
	whatif "gaugeblock/snapshot/compare"
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
	"gaugeblock/tools/examine"
)

const snapshots = "../../snapshot/tell/testdata/snapshots/"

func workload(t *testing.T) *history.Workload { return recorded(t, "gpt_varlen.default.nolimit") }

func recorded(t *testing.T, name string) *history.Workload {
	t.Helper()
	f, err := snapshot.Open(snapshots + name + ".pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func parse(t *testing.T, names ...string) (list []Candidate) {
	t.Helper()
	for _, name := range names {
		c, err := ParseCandidate(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// beginning is the first part of a workload, which tests of processes have time for.
func beginning(t *testing.T) *history.Workload {
	w := workload(t)
	w.Requests = w.Requests[:2500]
	return w
}

func compared(t *testing.T, w *history.Workload, o Options, names ...string) *Comparison {
	t.Helper()
	c, err := Compare(w, parse(t, names...), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// scratch is a directory that is there while tests run.
var scratch string

func TestMain(m *testing.M) { testfolder.Run(m, &scratch) }

var built = sync.OnceValue(func() error { return Build([]Candidate{{Name: MallocAsync}}, scratch) })

// library builds one of examine's libraries; the test is skipped where that cannot be done.
func library(t *testing.T, source string) string {
	t.Helper()
	var unavailable *examine.UnavailableError
	if err := built(); errors.As(err, &unavailable) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(scratch, source+".so")
	if err := cuda.Run(exec.Command(compiler, "-std=c++17", "-shared", "-fPIC", "-I"+filepath.Join(scratch, "include"), "-o", to,
		filepath.Join("..", "examine", "testdata", "libraries", source), "-L"+scratch, "-lcudart")); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestPyTorch: the rows of pytorch are what "gaugeblock whatif" says of these settings, and where the program was
// run with them what it reserved on an H200.
func TestPyTorch(t *testing.T) {
	measured := 0
	for _, name := range []string{"gpt_varlen", "compiled", "two_streams", "gpt_oom7"} {
		w := recorded(t, name+".default.nolimit")
		c := compared(t, w, Options{}, "pytorch", "pytorch,expandable_segments:True")
		told, err := whatif.Compare(w, whatif.Options{Settings: []string{"", "expandable_segments:True"}, AsRecorded: true, Present: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, settings := range []string{"default", "expandable"} {
			r, prediction := &c.Results[i], told.Predictions[i].AtEnd.PeakReserved
			if r.Most != prediction || r.Failed > 0 || len(r.OverTime) != parts {
				t.Errorf("%s, %s: %d bytes, whatif says %d; %+v", name, settings, r.Most, prediction, r)
			}
			truth, known := onGPU(t, name+"."+settings+".nolimit")
			// The record says when the frees of record_stream were complete in its own run. With other settings
			// they were at other times: four runs of this program with expandable segments reserved 582, 622, 742
			// and 822 MiB on H200s, so that one of them is no truth for this row.
			if !known || name == "two_streams" && settings == "expandable" {
				continue
			}
			measured++
			if r.Most != truth {
				t.Errorf("%s, %s: %d bytes, %d on an H200", name, settings, r.Most, truth)
			}
		}
	}
	w := recorded(t, "gpt_varlen.default.nolimit")
	told, err := whatif.Compare(w, whatif.Options{Settings: []string{""}, Limit: 300 * spec.MiB})
	if err != nil {
		t.Fatal(err)
	}
	r := &compared(t, w, Options{Limit: 300 * spec.MiB}, "pytorch").Results[0]
	if failed := int(told.Predictions[0].AtEnd.OOMs); failed == 0 || r.Failed != failed || r.OutOfMemory == nil {
		t.Errorf("under a limit %d requests fail, whatif says %d; %+v", r.Failed, failed, r)
	}
	if measured < 4 {
		t.Errorf("%d rows were compared with an H200", measured)
	}
}

// onGPU is what a program has reserved at most on an H200, if that was recorded.
func onGPU(t *testing.T, name string) (bytes uint64, known bool) {
	t.Helper()
	var truth struct {
		PeakReserved uint64 `json:"peak_reserved"`
	}
	data, err := os.ReadFile(snapshots + name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false
	}
	if err == nil {
		err = json.Unmarshal(data, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	return truth.PeakReserved, true
}

// TestLibraries: an allocator that asks the driver for each request holds what is requested and no
// more, and fails when that is more than the device has. The driver's own pool holds steps of
// 32 MiB.
func TestLibraries(t *testing.T) {
	naive := library(t, "naive.cc")
	w := beginning(t)
	c := compared(t, w, Options{Directory: scratch, SmallestLimit: true}, naive, MallocAsync, "pytorch")
	direct, async, pytorch := &c.Results[0], &c.Results[1], &c.Results[2]
	if direct.Most != w.PeakRequested() || direct.DriverCalls != int64(callsOf(w)) || direct.Retries != nil {
		t.Errorf("%d bytes and %d calls, not %d and %d", direct.Most, direct.DriverCalls, w.PeakRequested(), callsOf(w))
	}
	if want := (w.PeakRequested() + 2*spec.MiB - 1) / (2 * spec.MiB) * 2 * spec.MiB; direct.SmallestLimit == nil || *direct.SmallestLimit != want {
		t.Errorf("the smallest limit is %v, not %d", direct.SmallestLimit, want)
	}
	if async.Most%(32*spec.MiB) != 0 || async.Most < w.PeakRequested() || async.Most > w.PeakRequested()*11/10 || async.DriverCalls > 1000 {
		t.Errorf("%s: %d bytes, %d calls", MallocAsync, async.Most, async.DriverCalls)
	}
	if pytorch.SmallestLimit == nil || *pytorch.SmallestLimit < w.PeakRequested() || *pytorch.SmallestLimit > pytorch.Most {
		t.Errorf("the smallest limit of pytorch is %v", pytorch.SmallestLimit)
	}
	limited := compared(t, w, Options{Directory: scratch, Limit: w.PeakRequested() - 1}, naive).Results[0]
	if limited.OutOfMemory == nil || limited.OutOfMemory.Held+limited.OutOfMemory.Requested < w.PeakRequested() {
		t.Errorf("with a byte less than what is requested: %+v", limited)
	}
}

// callsOf are the requests for memory, and the frees.
func callsOf(w *history.Workload) (n int) {
	for i := range w.Requests {
		if k := w.Requests[i].Kind; k == history.Malloc || k == history.Free {
			n++
		}
	}
	return n
}

// TestDriverProgram: a program that speaks the line protocol is one more candidate.
func TestDriverProgram(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 here")
	}
	w := beginning(t)
	w.Requests = w.Requests[:400]
	c, err := Compare(w, parse(t, "driver:python3 ../examine/testdata/drivers/driver.py"), Options{Directory: t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Results[0]; r.Error != "" || r.Failed > 0 || r.Most < 2*spec.MiB {
		t.Errorf("%+v", r)
	}
}

// TestCrash: the row of an allocator that ends its process says so, and the others are there.
func TestCrash(t *testing.T) {
	t.Setenv("FAULT", "crashes")
	w := beginning(t)
	w.Requests[0].Bytes = 2 << 20
	c := compared(t, w, Options{Directory: scratch}, "pytorch", library(t, "cache.cc"))
	if c.Results[0].Error != "" || !strings.Contains(c.Results[1].Error, "two mebibytes!") || !strings.Contains(c.String(), "cache.cc.so ended early") {
		t.Errorf("%v", c)
	}
}

// TestCandidates: what is no allocator is said.
func TestCandidates(t *testing.T) {
	for text, says := range map[string]string{
		"pytorch:9.9":               "9.9",
		"pytorch,max_split_size_mb": "max_split_size_mb",
		"none.so.1":                 "no such file",
		"pytorch:2.8,graph_capture_record_stream_reuse:True": "unknown key",
		"jemalloc": "is no allocator", "pytorch2.11": "is no allocator", "pytorch2.so": "pytorch2.so",
		"pytorch,per_process_memory_fraction:0.5": "give the limit in bytes",
		"driver: ":                    "names no program",
		"no.so":                       "no.so",
		"testdata/async.cc.so:malloc": "two functions",
	} {
		if _, err := ParseCandidate(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestGoodCandidates: each form of a candidate is read, with what it names.
func TestGoodCandidates(t *testing.T) {
	for text, want := range map[string]string{
		"pytorch":      "true  []",
		"pytorch:2.11": "true 2.11 []",
		"pytorch,graph_capture_record_stream_reuse:True": "true  []",
		"pytorch,expandable_segments:True":               "true  []",
		"pytorch:2.11,expandable_segments:True":          "true 2.11 []",
		"driver:one":                                     "false  [one]",
		"driver: one two":                                "false  [one two]",
		MallocAsync:                                      "false  []",
	} {
		c, err := ParseCandidate(text)
		release := ""
		if c.release != nil {
			release = c.release.Name
		}
		if got := fmt.Sprintf("%v %s %v", c.pytorch, release, c.search.Command); err != nil || got != want || c.Name != text || (c.settings != nil) != strings.Contains(text, ",") {
			t.Errorf("%s: %s, %+v, %v", text, got, c, err)
		}
	}
}

// TestConditions: a row of pytorch has the settings and the rules that it names, or those of the record.
func TestConditions(t *testing.T) {
	w := recorded(t, "gpt_oom7.default.limit")
	for name, want := range map[string]string{
		"pytorch": "  measured driver", "pytorch,max_split_size_mb:32": " max_split_size_mb:32 measured driver",
		"pytorch:2.11": "2.11  measured driver, rules of 2.11", "pytorch:2.11,max_split_size_mb:32": "2.11 max_split_size_mb:32 measured driver, rules of 2.11",
	} {
		c := parse(t, name)[0]
		for _, limit := range []uint64{0, 300 * spec.MiB} {
			o := c.conditions(w, limit)
			if got := fmt.Sprintf("%s %s %s", o.Assumptions.Release, o.Settings.Text, o.Assumptions.Name); got != want || !reflect.DeepEqual(o.Reading, w.GivenReadings(history.Limits{Device: limit})[0]) {
				t.Errorf("%s: %q, %+v", name, got, o.Reading)
			}
		}
	}
}

// TestNoDriverPool: cudaMallocAsync is asked through a library, which is built once. Where that cannot be it is said.
func TestNoDriverPool(t *testing.T) {
	async := parse(t, MallocAsync)
	said := func(dir string) string {
		_, err := Compare(late(), async, Options{Directory: dir}, nil)
		return fmt.Sprint(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	if got, want := said(none), "cudaMallocAsync: open "+filepath.Join(none, "async.cc")+": no such file or directory"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv("PATH", "")
	t.Setenv("CXX", "")
	if got, want := said(t.TempDir()), "cudaMallocAsync: "+cuda.ErrNoCompiler.Error(); got != want {
		t.Errorf("without a compiler: %s, want %s", got, want)
	}
	dir := t.TempDir()
	there := filepath.Join(dir, "libcudamallocasync.so")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := buildAsync(dir); err != nil || got != there {
		t.Errorf("%s, %v: it is there", got, err)
	}
}

// TestPage: names are text on the page, which has no script, and a line for each allocator.
func TestPage(t *testing.T) {
	c := &Comparison{Requested: 1 << 20, Results: []Result{{Allocator: "<script>alert(1)</script>", Most: 2 << 20, OverTime: []uint64{1 << 20, 2 << 20}}}}
	var b bytes.Buffer
	if err := c.WritePage(&b, "<b>x</b>"); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>") || !strings.Contains(page, `points="0.0,160.0 480.0,160.0 480.0,0.0 960.0,0.0 "`) {
		t.Error(page)
	}
}

// TestTimes: how long requests take is said if it is asked for, and never otherwise.
func TestTimes(t *testing.T) {
	for _, times := range []bool{false, true} {
		c := compared(t, beginning(t), Options{Times: times}, "pytorch")
		said := strings.Contains(c.String(), "a request takes")
		if (c.Results[0].PerRequest > 0) != times || said != times {
			t.Errorf("asked %v: %v\n%v", times, c.Results[0].PerRequest, c)
		}
	}
	for requests, seconds := range map[int]time.Duration{0: 0, 1000: 1, 2_000_000: 0} {
		var r Result
		o := Options{Times: true}
		o.time(&r, requests, time.Now().Add(-1000*time.Second))
		if r.PerRequest.Truncate(time.Second) != seconds*time.Second || (r.PerRequest > 0) != (requests > 0) {
			t.Errorf("%d requests in 1000 s: %v for one", requests, r.PerRequest)
		}
	}
}

// TestFailedRequestCounts: the request for want of which the recorded program failed is served here,
// so it counts on both sides of "of requested". The program of the record, with enough memory, is
// the same up to there.
func TestFailedRequestCounts(t *testing.T) {
	f, err := snapshot.Open("../../snapshot/tell/testdata/snapshots/gpt_oom7.default.limit.pickle.gz")
	if err != nil {
		t.Fatal(err)
	}
	w, err := play.FromSnapshot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := compared(t, w, Options{}, "pytorch,expandable_segments:True")
	if c.Requested <= w.PeakRequested() || c.Requests != w.Mallocs || c.Results[0].Most < c.Requested || c.Results[0].Most > c.Requested*102/100 {
		t.Errorf("%d requests of %d at one time, expandable segments hold %d", c.Requests, c.Requested, c.Results[0].Most)
	}
}
