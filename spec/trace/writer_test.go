package trace_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"

	"github.com/google/go-cmp/cmp"
)

func testTraceHeader() trace.Header {
	return trace.Header{TotalMemory: 1000, Streams: []spec.Stream{0, 7}, StatColumns: []string{"num_ooms"}}
}

// TestTraceWriterRefuses: what could not be read back is an error, and leaves what
// was written before and after it alone.
func TestTraceWriterRefuses(t *testing.T) {
	addr := spec.Ptr(512)
	for _, c := range []struct {
		name string
		op   trace.Op
		want string
	}{
		{"no kind", trace.Op{}, `unknown operation ""`},
		{"a kind that is none", trace.Op{Kind: "mallok"}, `unknown operation "mallok"`},
		{"the end", trace.Op{Kind: "end"}, `unknown operation "end"`},
		{"a field of another kind", trace.Op{Kind: trace.OpFree, ID: 1, Size: 5}, `field "size" does not belong to free`},
		{"an address of nothing", trace.Op{Kind: trace.OpFree, ID: 1, Expect: trace.Expectation{Addr: &addr}}, `field "addr" does not belong to free`},
		{"a negative id", trace.Op{Kind: trace.OpFree, ID: -1}, `field "id": -1 is not a whole number of 0 to 2^63-1 (column 19)`},
		{"a huge size", trace.Op{Kind: trace.OpMalloc, ID: 2, Size: 1 << 63}, `field "size": 9223372036854775808 is not a whole number of 0 to 2^63-1 (column 30)`},
		{"a negative stream", trace.Op{Kind: trace.OpBusy, Stream: -1}, `field "stream": -1 is not a whole number of 0 to 2^63-1 (column 23)`},
		{"a stream that is not there", trace.Op{Kind: trace.OpBusy, Stream: 2}, `busy: stream index 2, but the header has only 2 streams`},
		{"not a number", trace.Op{Kind: trace.OpSetMemoryFraction, Fraction: math.NaN()}, `not JSON: want a number, have 'N' (column 40)`},
		{"infinity", trace.Op{Kind: trace.OpSetMemoryFraction, Fraction: math.Inf(1)}, `not JSON: want a number, have '+' (column 40)`},
		{"no filter", trace.Op{Kind: trace.OpPoolBegin}, `field "by": "" is not one of thread, stream, capture (column 38)`},
		{"no mode", trace.Op{Kind: trace.OpCaptureBegin, Mode: 9}, `field "mode": "unknown" is not one of global, thread_local, relaxed (column 30)`},
		{"no fault", trace.Op{Kind: trace.OpFault, Fault: spec.FaultSpec{Call: "Malloc", Error: "unknown"}}, `field "fault": calls are counted from 1 (column 66)`},
		{"no action", trace.Op{Kind: trace.OpEmptyCache, Expect: trace.Expectation{Entries: []spec.TraceEntry{{Action: 99}}}}, `field "events": "unknown" is not one of alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map, segment_unmap, snapshot, oom, annotate (column 32)`},
		{"no state", trace.Op{Kind: trace.OpEmptyCache, Expect: trace.Expectation{Layout: []spec.Segment{{Blocks: []spec.Block{{State: 9}}}}}}, `field "layout.blocks": "unknown" is not one of inactive, active_allocated, active_pending_free (column 164)`},
		{"bytes that are no text", trace.Op{Kind: trace.OpConfigure, Settings: "\xff"}, `not a text file: bytes that are not UTF-8`},
		{"statistics without columns", trace.Op{Kind: trace.OpEmptyCache, Expect: trace.Expectation{Stats: []int64{1, 2}}}, `empty_cache: "stats" of length 2, but the header has 1 "stat_columns"`},
		{"an id twice", trace.Op{Kind: trace.OpMalloc, ID: 1}, `malloc: id 1 is allocated already`},
		{"a long line", trace.Op{Kind: trace.OpKernel, Name: strings.Repeat("x", trace.MaxLine)}, `the line is longer than 16777216 bytes`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := trace.NewWriter(&b, testTraceHeader())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(&trace.Op{Kind: trace.OpMalloc, ID: 1, Size: 5}); err != nil {
				t.Fatal(err)
			}
			err = w.Write(&c.op)
			var argument *spec.InvalidArgumentError
			if !errors.As(err, &argument) || argument.Reason != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if err := w.Write(&trace.Op{Kind: trace.OpFree, ID: 1}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(nil); err != nil {
				t.Fatal(err)
			}
			if err := w.Write(&trace.Op{Kind: trace.OpEmptyCache}); err == nil {
				t.Error("a closed writer takes operations")
			}
			want := `{"format":"allocator-trace","version":2,"total_memory":1000,"streams":[0,7],"stat_columns":["num_ooms"]}
{"op":"malloc","id":1,"size":5}
{"op":"free","id":1}
`
			if diff := cmp.Diff(want, b.String()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTraceWriterRefusesHeader(t *testing.T) {
	for _, c := range []struct {
		change func(h *trace.Header)
		want   string
	}{
		{func(h *trace.Header) { h.Streams = nil }, `"streams" does not begin with 0, the default stream`},
		{func(h *trace.Header) { h.TotalMemory = 0 }, `"total_memory" is 0`},
		{func(h *trace.Header) { h.Devices = -1 }, `field "devices": -1 is not a whole number of 0 to 2^63-1 (column 51)`},
		{func(h *trace.Header) { h.Source = "\xff" }, `not a text file: bytes that are not UTF-8`},
		{func(h *trace.Header) { h.Geometry.MinBlock = 3 }, `geometry: MinBlock 3 is not a power of two`},
	} {
		h := testTraceHeader()
		c.change(&h)
		var b bytes.Buffer
		_, err := trace.NewWriter(&b, h)
		var argument *spec.InvalidArgumentError
		if !errors.As(err, &argument) || argument.Reason != c.want || b.Len() > 0 {
			t.Errorf("wrote %d bytes; got %v\nwant %s", b.Len(), err, c.want)
		}
	}
}

// TestWriteTraceFile: the file is there whole or not at all.
func TestWriteTraceFile(t *testing.T) {
	good := []trace.Op{{Kind: trace.OpMalloc, ID: 1, Size: 5}, {Kind: trace.OpFree, ID: 1}}
	bad := []trace.Op{{Kind: trace.OpMalloc, ID: 1, Size: 5}, {Kind: trace.OpFree, ID: 2}}
	for _, name := range []string{"t.jsonl", "t.jsonl.gz"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			err := trace.WriteFile(path, testTraceHeader(), bad, nil)
			if want := "operation 1: write trace: free: id 2 is not allocated"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			wantFiles(t, filepath.Dir(path))
			wantClosed(t, filepath.Dir(path))

			end := &trace.End{Layout: []spec.Segment{}}
			if err := trace.WriteFile(path, testTraceHeader(), good, end); err != nil {
				t.Fatal(err)
			}
			if err := trace.WriteFile(path, testTraceHeader(), bad, nil); err == nil {
				t.Error("the bad trace was written")
			}
			wantFiles(t, filepath.Dir(path), name)
			wantClosed(t, filepath.Dir(path))
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o644 {
				t.Errorf("others cannot read the file: %v, %v", info.Mode(), err)
			}
			if err := trace.WriteFile(filepath.Join(path, name), testTraceHeader(), good, end); err == nil {
				t.Error("a file was written in a folder that is none")
			}

			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if zipped := bytes.HasPrefix(content, []byte("\x1f\x8b")); zipped != strings.HasSuffix(name, ".gz") {
				t.Errorf("compressed: %t", zipped)
			}
			tr, err := trace.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			for i := range good {
				want := good[i]
				want.Line = i + 2
				got, err := tr.Next()
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, *got); diff != "" {
					t.Errorf("operation %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantClosed expects that no file of a folder is open, where the system tells which are.
func wantClosed(t *testing.T, folder string) {
	t.Helper()
	files, _ := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); strings.HasPrefix(to, folder+"/") {
			t.Errorf("%s is still open", to)
		}
	}
}

// fullDisk fails from a number of bytes on.
type fullDisk struct{ left int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.left {
		return 0, errFull
	}
	d.left -= len(p)
	return len(p), nil
}

// TestTraceWriterFullDisk: an error below stays.
func TestTraceWriterFullDisk(t *testing.T) {
	w, err := trace.NewWriter(&fullDisk{left: 10000}, testTraceHeader())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 10000; i++ {
		err = w.Write(&trace.Op{Kind: trace.OpEmptyCache})
	}
	if !errors.Is(err, errFull) {
		t.Errorf("Write: %v", err)
	}
	if err := w.Close(nil); !errors.Is(err, errFull) {
		t.Errorf("Close: %v", err)
	}
}

func TestOpenTraceMissing(t *testing.T) {
	_, err := trace.Open(filepath.Join(t.TempDir(), "none.jsonl"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	_, err = trace.Open(t.TempDir())
	var traceError *trace.Error
	if !errors.As(err, &traceError) {
		t.Errorf("a folder: got %v", err)
	}
	if _, _, _, err := trace.ReadFile(filepath.Join(t.TempDir(), "none.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ReadFile: got %v", err)
	}
}

// TestReadFileClosesFile: whether or not it can be read, the file is closed.
func TestReadFileClosesFile(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1048576,"streams":[0]}` + "\n"
	for name, content := range map[string]string{"whole": header + `{"op":"empty_cache"}` + "\n" + `{"end":true}` + "\n", "broken": header + "nonsense\n"} {
		path := filepath.Join(t.TempDir(), "trace.jsonl")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, ops, _, err := trace.ReadFile(path)
		if (err == nil) != (name == "whole") || err == nil && len(ops) != 1 {
			t.Errorf("%s: %d operations, %v", name, len(ops), err)
		}
		wantClosed(t, filepath.Dir(path))
	}
}

// TestReaderClosesFile: Close closes what Open opened.
func TestReaderClosesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(`{"format":"allocator-trace","version":2,"total_memory":1048576,"streams":[0]}`+"\n"+`{"end":true}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
}

// TestWriteRefusesHeader: a header that could not be read back is an error before any operation is
// written.
func TestWriteRefusesHeader(t *testing.T) {
	var out bytes.Buffer
	if err := trace.Write(&out, trace.Header{Devices: -1}, []trace.Op{{Kind: trace.OpEmptyCache}}, nil); err == nil || out.Len() > 0 {
		t.Errorf("%d bytes were written: %v", out.Len(), err)
	}
}

// TestLineIsAWord: a line that is a single word is told as such.
func TestLineIsAWord(t *testing.T) {
	_, err := trace.NewReader(strings.NewReader("true"), "word")
	if err == nil || !strings.Contains(err.Error(), "have true") {
		t.Errorf("the error is %v", err)
	}
}

// TestPerThreadStreamIsNotCreated: the default streams are not created, that of a thread neither.
func TestPerThreadStreamIsNotCreated(t *testing.T) {
	h := trace.Header{TotalMemory: 1000, Streams: []spec.Stream{0, trace.PerThreadStream}}
	err := trace.Write(&bytes.Buffer{}, h, []trace.Op{{Kind: trace.OpCreateStream, Stream: 1}}, nil)
	if err == nil || !strings.Contains(err.Error(), "handle 2, is not created") {
		t.Errorf("the error is %v", err)
	}
}
