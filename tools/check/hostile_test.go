package check_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaugeblock/internal/checkout"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tools/check"
	"gaugeblock/tools/reference"
	"gaugeblock/tools/replay"
)

// Logs that are made to take long, to need much memory, or to be taken for what they are
// not. Each kind has a small log here; the larger ones that showed the kind are beside the
// project.

const hostileFiles = "../../../shared/hostile"

// TestHostileFiles: each of them is checked and replayed, or refused with file and line, at once.
func TestHostileFiles(t *testing.T) {
	for name, want := range map[string]struct{ check, replay string }{
		"check_unmap0.jsonl": {"check_unmap0.jsonl:2: 0 bytes at 0x100000000 are said to be unmapped", "operation 1 (line 2)"},
		"check_unmap2.jsonl": {"3 violations in 2 operations", "operation 1 (line 2)"},
		"octal.csv":          {"0 violations in 2 operations", "octal.csv:1: not JSON"},
		"tiny_pages.jsonl":   {`tiny_pages.jsonl:2: malloc without "addr"`, "tiny_pages.jsonl:2: malloc: 1099511627776 bytes"},
		"esc_source.jsonl":   {`esc_source.jsonl:2: malloc without "addr"`, `\u001b[31mPWN`},
		"esc_settings.jsonl": {"the reference: settings", "settings"},
		"restore_min.jsonl":  {"2 violations in 9 operations", "exact (9 operations)"},
		"xss.json":           {"gaugeblock whatif and gaugeblock report read it", "gaugeblock whatif and gaugeblock report read it"},
		"lists20.pickle.gz":  {"gaugeblock whatif and gaugeblock report read it", "gaugeblock whatif and gaugeblock report read it"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(hostileFiles, name)
			if _, err := os.Stat(path); err != nil {
				t.Skip("the file is in the folder shared")
			}
			begin := processorTime()
			result, err := check.File(path, check.Options{Reference: reference.New})
			mustSay(t, "check", result, err, want.check)
			replayed, err := replay.File(path, replay.Options{New: reference.New})
			mustSay(t, "replay", &replayed, err, want.replay)
			if took := processorTime() - begin; took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// mustSay wants the error, or the result, to have a text.
func mustSay(t *testing.T, command string, result fmt.Stringer, err error, want string) {
	t.Helper()
	got := fmt.Sprint(err)
	if err == nil {
		got = result.String()
	}
	if !strings.Contains(got, want) {
		t.Errorf("%s says %q, and not %q", command, got, want)
	}
}

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// tableOf is a log of lines.
func tableOf(n int, line func(w *bytes.Buffer, i int)) string {
	var w bytes.Buffer
	w.WriteString("Thread,Time,Action,Pointer,Size,Stream\n")
	for i := range n {
		line(&w, i)
	}
	return w.String()
}

// manyOf are logs with very many of one thing.
var manyOf = map[string]func(n int) string{
	"streams that read a block": func(n int) string {
		return "Thread,Time,Action,Pointer,Size,Stream\n1,1,allocate,0x100000,1024,0\n" +
			strings.TrimPrefix(tableOf(n, func(w *bytes.Buffer, i int) { fmt.Fprintf(w, "1,1,read,0x100000,0,%d\n", i+3) }), "Thread,Time,Action,Pointer,Size,Stream\n")
	},
	"streams that write a block": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			if i == 0 {
				w.WriteString("1,1,allocate,0x100000,1024,0\n")
			}
			fmt.Fprintf(w, "1,1,write,0x100000,0,%d\n", i+3)
		})
	},
	"streams recorded for a block": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			if i == 0 {
				w.WriteString("1,1,allocate,0x100000,1024,0\n")
			}
			fmt.Fprintf(w, "1,1,record stream,0x100000,0,%d\n", i+3)
			if i == n-1 {
				w.WriteString("1,1,free,0x100000,1024,0\n1,1,free completed,0x100000,0,0\n")
			}
		})
	},
	"streams that wait for one": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,wait,%d,0,%d\n1,1,wait,%d,0,%d\n", 3, i%(n/2)+4, i%(n/2)+4, 3)
		})
	},
	"streams that come and go": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,create stream,0,0,%[1]d\n1,1,record event,9,0,%[1]d\n", i+3)
			if i%2 == 0 {
				fmt.Fprintf(w, "1,1,destroy stream,0,0,%d\n1,1,synchronize device,0,0,0\n", i+3)
			}
		})
	},
	"segments": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,driver allocate,%#[1]x,4096,0\n1,1,allocate,%#[1]x,4096,0\n1,1,free,%#[1]x,4096,0\n", 0x100000000+i*4096)
			if i == n-1 {
				for j := range n {
					fmt.Fprintf(w, "1,1,driver free,%#x,4096,0\n", 0x100000000+(j*7919)%n*4096)
				}
				w.WriteString("1,1,empty cache,0,0,0\n")
			}
		})
	},
	"pages": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "1,1,driver map,%#x,1,0\n", 0x100000000+i)
			if i == n-1 {
				fmt.Fprintf(w, "1,1,allocate,%#[1]x,%[2]d,0\n1,1,write,%#[1]x,0,0\n1,1,free,%#[1]x,%[2]d,0\n", 0x100000000, n)
				for j := range n {
					fmt.Fprintf(w, "1,1,driver unmap,%#x,1,0\n", 0x100000000+(j*7919)%n)
				}
				w.WriteString("1,1,empty cache,0,0,0\n")
			}
		})
	},
	"threads": func(n int) string {
		return tableOf(n, func(w *bytes.Buffer, i int) {
			fmt.Fprintf(w, "%[1]d,1,allocate,0x100000,1024,2\n%[1]d,1,write,0x100000,0,2\n%[1]d,1,synchronize,0,0,2\n%[1]d,1,free,0x100000,1024,2\n%[1]d,1,end thread,0,0,0\n", i)
		})
	},
}

// TestLinear: four times as long a log takes some four times as long, not sixteen times.
func TestLinear(t *testing.T) {
	for name, log := range manyOf {
		t.Run(name, func(t *testing.T) {
			var took [2]time.Duration
			var built [2]uint64
			for i, n := range []int{5003, 4 * 5003} {
				text := log(n)
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begin := processorTime()
				if _, err := check.Reader(strings.NewReader(text), name, check.Options{Live: true}); err != nil {
					t.Fatal(err)
				}
				took[i] = processorTime() - begin
				runtime.ReadMemStats(&after)
				built[i] = after.TotalAlloc - before.TotalAlloc
			}
			if built[1] > 8*built[0] || took[1] > 9*took[0]+100*time.Millisecond {
				t.Errorf("4 times the lines: %v and %v, %d and %d bytes", took[0], took[1], built[0], built[1])
			}
		})
	}
}

// TestBudget: a log that needs more memory than is allowed is refused with a line.
func TestBudget(t *testing.T) {
	text := tableOf(100_000, func(w *bytes.Buffer, i int) { fmt.Fprintf(w, "1,1,allocate,%#x,512,0\n", 0x100000000+i*512) })
	runtime.GC()
	_, err := check.Reader(strings.NewReader(text), "log", check.Options{MaxMemory: 1 << 20})
	if err == nil || !strings.Contains(err.Error(), "this needs more than 1048576 bytes (1024.00 KiB) of memory, which --max-memory raises") {
		t.Error(err)
	}
	if _, err := check.Reader(strings.NewReader(text), "log", check.Options{Live: true}); err != nil {
		t.Error(err)
	}
}

// TestTakenApart: it does not matter in how many pieces a log says that pages were mapped
// and unmapped.
func TestTakenApart(t *testing.T) {
	files, err := checkout.AllTraces()
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for name, file := range files {
		for way, change := range map[string]func([]spec.TraceEntry) []spec.TraceEntry{"split": split, "joined": join} {
			text, changed := altered(t, file, change)
			if changed == 0 {
				continue
			}
			taken++
			result, err := check.Reader(strings.NewReader(text), name+", "+way, check.Options{Live: true})
			if err != nil || result.Count() > 0 {
				t.Errorf("%v %v", result, err)
			}
		}
	}
	if taken < 2 {
		t.Error("no recorded run maps pages")
	}
}

// altered is a trace with other entries, and how many operations have others.
func altered(t *testing.T, file string, change func([]spec.TraceEntry) []spec.TraceEntry) (text string, changed int) {
	t.Helper()
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	h := *r.Header()
	h.Version = trace.Version
	w, err := trace.NewWriter(&b, h)
	if err != nil {
		t.Fatal(err)
	}
	for {
		op, err := r.Next()
		if err != nil {
			break
		}
		entries := change(op.Expect.Entries)
		if !slices.Equal(entries, op.Expect.Entries) {
			changed++
			op.Expect.Entries = entries
		}
		if err := w.Write(op); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(nil); err != nil {
		t.Fatal(err)
	}
	return b.String(), changed
}

// split cuts each mapping and unmapping in two.
func split(entries []spec.TraceEntry) (pieces []spec.TraceEntry) {
	for _, e := range entries {
		if (e.Action == spec.ActionSegmentMap || e.Action == spec.ActionSegmentUnmap) && e.Size > 1 {
			first := e
			first.Size /= 2
			e.Addr += spec.Ptr(first.Size)
			e.Size -= first.Size
			pieces = append(pieces, first)
		}
		pieces = append(pieces, e)
	}
	return pieces
}

// join makes one of neighbouring mappings, or unmappings, that follow each other.
func join(entries []spec.TraceEntry) (joined []spec.TraceEntry) {
	for _, e := range entries {
		if n := len(joined); n > 0 && (e.Action == spec.ActionSegmentMap || e.Action == spec.ActionSegmentUnmap) &&
			joined[n-1].Action == e.Action && joined[n-1].Addr+spec.Ptr(joined[n-1].Size) == e.Addr {
			joined[n-1].Size += e.Size
			continue
		}
		joined = append(joined, e)
	}
	return joined
}

// TestUnmapped: pages that are not there are refused with the line, whatever else is.
func TestUnmapped(t *testing.T) {
	const header = `{"format":"allocator-trace","version":2,"total_memory":1,"streams":[0,7]}` + "\n"
	for _, test := range []struct{ events, want string }{
		{`["segment_unmap",4294967296,0,0]`, "are said to be unmapped"},
		{`["segment_map",4294967296,0,0]`, "are said to be mapped"},
		{`["segment_map",4294967296,4096,0],["segment_map",4294969344,4096,0]`, "are said to be mapped"},
		{`["segment_map",4294967296,4096,0],["segment_unmap",4294967296,8192,0]`, "are said to be unmapped"},
		{`["segment_map",4294967296,4096,0],["segment_map",4294975488,4096,0],["segment_unmap",4294967296,12288,0]`, "are said to be unmapped"},
		{`["segment_map",4294967296,4096,0],["segment_map",4294971392,4096,0],["segment_unmap",4294968320,6144,0],["segment_unmap",4294967296,1024,0],["segment_unmap",4294974464,1024,0]`, ""},
	} {
		text := header + `{"op":"empty_cache","events":[` + test.events + `]}` + "\n" + `{"end":true}` + "\n"
		_, err := check.Reader(strings.NewReader(text), "log", check.Options{})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "log:2: ") || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.events, err)
		}
	}
}
