package examine

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gaugeblock/spec/trace"
)

// The shortest program of a violation is also written in C++, which calls the library and
// CUDA's functions, and in Python, for PyTorch and its CUDAPluggableAllocator on a real GPU.

//go:embed programs/program.cc
var cplusplusProgram string

//go:embed programs/program.py
var pythonProgram string

// A program is written in a language.
type writer struct {
	functions Functions
	library   string
	header    trace.Header
	ops       []trace.Op
	about     []string // what it shows
}

// write writes the program beside its trace, in the languages in which it can be said, and
// returns the names of the files.
func (w *writer) write(traceFile string) ([]string, error) {
	base := strings.TrimSuffix(traceFile, filepath.Ext(traceFile))
	var written []string
	for _, language := range []struct {
		suffix  string
		program func() (string, bool)
	}{{".cc", w.cplusplus}, {".py", w.python}} {
		text, can := language.program()
		if !can {
			continue
		}
		if err := os.WriteFile(base+language.suffix, []byte(text), 0o644); err != nil {
			return nil, err
		}
		written = append(written, base+language.suffix)
	}
	return written, nil
}

// cplusplus is the program in C++; false if it has threads.
func (w *writer) cplusplus() (string, bool) {
	calls, can := w.calls("\t", "{", "}", ";")
	if !can || w.header.Threads > 0 {
		return "", false
	}
	about := append(w.about, "",
		`Compiled and run with FAKE, the directory of "make fake-cuda":`,
		"c++ -std=c++17 THIS.cc -I$FAKE/include -L$FAKE -lcudart -lcuda -ldl -o program",
		fmt.Sprintf("export GAUGEBLOCK_CUDA_DEVICES=%d GAUGEBLOCK_CUDA_MEMORY=%d GAUGEBLOCK_CUDA_ADDRESSES=ascending", w.header.Devices, w.header.TotalMemory),
		"export LD_LIBRARY_PATH=$FAKE GAUGEBLOCK_CUDA_HAZARDS=owners GAUGEBLOCK_CUDA_WAITS=drain",
		"./program "+reached(w.library))
	f := &w.functions
	text := strings.NewReplacer("PROGRAM\n", calls, `"MALLOC"`, strconv.Quote(f.Malloc), `"FREE"`, strconv.Quote(f.Free),
		`"RECORD_STREAM"`, strconv.Quote(named(f.RecordStream)), `"EMPTY_CACHE"`, strconv.Quote(named(f.Reset)),
		`"MALLOC_ALIGNED"`, strconv.Quote(named(f.MallocAligned)), `"RESIZE"`, strconv.Quote(named(f.Resize)),
		`"SLEEP"`, strconv.Quote(named(f.Sleep)), `"WAKE"`, strconv.Quote(named(f.Wake)), `"END"`, strconv.Quote(named(f.End)),
		`"INIT"`, strconv.Quote(named(f.Init)), "DEVICES", strconv.Itoa(w.header.Devices)).Replace(cplusplusProgram)
	return commented("// ", about) + text, true
}

// reached is a path that dlopen takes as one: with a slash.
func reached(library string) string {
	if strings.Contains(library, "/") {
		return library
	}
	return "./" + library
}

// named is a name that no library exports, if there is none.
func named(function string) string {
	if function == "" {
		return "(none)"
	}
	return function
}

// pythonKinds are what PyTorch can be made to do. It chooses itself on which stream it frees.
var pythonKinds = map[trace.OpKind]bool{
	trace.OpMalloc: true, trace.OpFree: true, trace.OpRecordStream: true, trace.OpEmptyCache: true, trace.OpKernel: true, trace.OpCopy: true,
	trace.OpRecordEvent: true, trace.OpWaitEvent: true, trace.OpWaitStream: true, trace.OpSynchronize: true, trace.OpBusy: true, trace.OpDrain: true,
}

// python is the program in Python; false if PyTorch cannot be made to do it.
func (w *writer) python() (string, bool) {
	for i := range w.ops {
		if !pythonKinds[w.ops[i].Kind] || w.ops[i].Align > 0 {
			return "", false
		}
	}
	calls, can := w.calls("", "[", "]", "")
	if !can || w.header.Threads > 0 {
		return "", false
	}
	var hooks []string
	for _, h := range []struct{ setter, function string }{
		{"set_init_fn", w.functions.Init}, {"set_reset_fn", w.functions.Reset}, {"set_record_stream_fn", w.functions.RecordStream},
	} {
		if h.function != "" {
			hooks = append(hooks, fmt.Sprintf("allocator.allocator().%s(ctypes.cast(getattr(ctypes.CDLL(LIBRARY), %q), ctypes.c_void_p).value)", h.setter, h.function))
		}
	}
	text := pythonProgram
	if len(hooks) > 0 {
		text = strings.Replace(text, "import sys\n", "import ctypes\nimport sys\n", 1)
		hooks = append(hooks, "")
	}
	text = strings.NewReplacer("PROGRAM\n", calls, "LIBRARY_PATH", w.library, `"MALLOC"`, strconv.Quote(w.functions.Malloc),
		`"FREE"`, strconv.Quote(w.functions.Free), "HOOKS\n", strings.Join(hooks, "\n")).Replace(text)
	about := append(w.about, "", "Run with PyTorch 2.11 on a GPU (this file says what was found on a fake one):", "python3 THIS.py LIBRARY")
	return commented("# ", about) + text, true
}

func commented(mark string, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(mark+line, " ") + "\n")
	}
	return b.String()
}

// calls are the operations as calls of the functions that both languages have.
func (w *writer) calls(indent, open, end, stop string) (string, bool) {
	var b strings.Builder
	for i := range w.ops {
		call := callOf(&w.ops[i], open, end)
		if call == "" {
			return "", false
		}
		b.WriteString(indent + call + stop + "\n")
	}
	return b.String(), true
}

// callOf is an operation as a call; "" if there is no such function.
func callOf(op *trace.Op, open, end string) string {
	list := func(ranges []trace.OpRange) string {
		ids := make([]string, len(ranges))
		for i, r := range ranges {
			ids[i] = strconv.FormatInt(r.ID, 10)
		}
		return open + strings.Join(ids, ", ") + end
	}
	switch op.Kind {
	case trace.OpMalloc:
		if op.Align > 0 {
			return fmt.Sprintf("allocate_aligned(%d, %d, %d, %d, %d)", op.ID, op.Device, op.Stream, op.Size, op.Align)
		}
		return fmt.Sprintf("allocate(%d, %d, %d, %d)", op.ID, op.Device, op.Stream, op.Size)
	case trace.OpFree:
		return fmt.Sprintf("release(%d)", op.ID)
	case trace.OpFreeOn, trace.OpRecordStream:
		return fmt.Sprintf("%s(%d, %d, %d)", op.Kind, op.ID, op.Device, op.Stream)
	case trace.OpEmptyCache:
		return "empty_cache()"
	case trace.OpResize:
		return fmt.Sprintf("resize(%d, %d)", op.ID, op.Size)
	case trace.OpSleep, trace.OpWake:
		return fmt.Sprintf("call_%s()", op.Kind)
	case trace.OpKernel:
		return fmt.Sprintf("kernel(%d, %d, %s, %s)", op.Device, op.Stream, list(op.Reads), list(op.Writes))
	case trace.OpCopy:
		return fmt.Sprintf("copy(%d, %d, %d, %d, %d)", op.Device, op.Stream, op.Writes[0].ID, op.Reads[0].ID, op.Reads[0].Bytes)
	case trace.OpRecordEvent, trace.OpWaitEvent:
		return fmt.Sprintf("%s(%d, %d, %d)", op.Kind, op.Device, op.Stream, op.Event)
	case trace.OpWaitStream:
		return fmt.Sprintf("wait_stream(%d, %d, %d)", op.Device, op.Stream, op.On)
	case trace.OpSynchronize, trace.OpBusy, trace.OpDrain, trace.OpDestroyStream:
		return fmt.Sprintf("%s(%d, %d)", op.Kind, op.Device, op.Stream)
	case trace.OpDeviceFree:
		return fmt.Sprintf("device_free(%d, %d)", op.Device, op.Size)
	case trace.OpFault:
		return fmt.Sprintf("fault(%q, %d, %q)", op.Fault.Call, op.Fault.Nth, op.Fault.Error)
	}
	return ""
}

// writeAll writes the programs of all violations, and returns the names of the files.
func (s *Search) writeAll(r *Report) error {
	if s.Library == "" {
		return nil
	}
	for i := range r.Violations {
		v := &r.Violations[i]
		if v.File == "" {
			continue
		}
		h, ops := v.Program()
		w := &writer{functions: r.Functions, library: s.Library, header: h, ops: ops, about: []string{
			fmt.Sprintf("%s: %s", v.Rule.Name, v.Rule.Sentence), fmt.Sprintf("found: %s", v.Found),
		}}
		files, err := w.write(v.File)
		if err != nil {
			return err
		}
		v.Programs = files
	}
	return nil
}

// Violations is the usual directory, in the folder of a user who examines.
const Violations = "gaugeblock-violations"

// hideFromGit lets git ignore the directory if it is the usual one, and was made.
func (s *Search) hideFromGit() error {
	if _, err := os.Stat(s.Directory); s.Directory != Violations || err != nil {
		return nil
	}
	file := filepath.Join(s.Directory, ".gitignore")
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	return os.WriteFile(file, []byte("*\n"), 0o666)
}
