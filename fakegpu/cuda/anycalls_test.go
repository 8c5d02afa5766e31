package cuda

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
	"gaugeblock/spec"
)

// Random callers of the libraries' C interface, under the sanitizers of the compiler: every function that
// the headers declare, with null, stale, made-up and ordinary arguments, in any order, from threads that
// end, from forked children and while the process ends. A CUDA answers with an error; so must these. What
// would crash CUDA too is not tried: sizes larger than a buffer, and pointers into nowhere.

// prototype is a declaration of a function.
var prototype = regexp.MustCompile(`(?m)^(?:cudaError_t|CUresult) (\w+)\(([^;]*)\);`)

// definition is one of a function that the libraries have.
var definition = regexp.MustCompile(`(?m)^[A-Z_]+(?: [A-Z]?[a-z]+)? ((?:cuda|cu|nvml)[A-Z]\w+)\(([^{};]*)\)\s*\{`)

// notCalled are functions that wait for ever, as CUDA does, if they are called at random, that read
// a structure with pointers in it, or that lead to functions.
var notCalled = regexp.MustCompile(`WaitValue|LaunchKernelEx|GetExportTable|UserObjectCreate`)

// ownTypes are the types of the libraries' sources, as the program has them.
var (
	pointers = regexp.MustCompile(`\b(?:[A-Z][a-z]\w* \*|(?:unsigned long long|\w+) (\w+)\[\w+\])`)
	ownTypes = strings.NewReplacer("Ptr ", "CUdeviceptr ", "Handle ", "CUipcMemHandle ", "Dim ", "struct three ", "Location ", "CUmemLocation ",
		"const void *const **", "void **")
)

// caller writes the program that calls the functions of the headers.
func caller(t *testing.T) string {
	t.Helper()
	var cases, declarations strings.Builder
	n := 0
	known := map[string]bool{}
	add := func(name, called, parameters string) {
		if !notCalled.MatchString(name) && !known[name] {
			fmt.Fprintf(&cases, "\tcase %d: %s\n", n, callOf(name, called, parameters))
			n++
		}
		known[name] = true
	}
	for _, header := range []string{"gaugeblock_cuda.h", "gaugeblock_cuda_driver.h"} {
		text, err := os.ReadFile(filepath.Join("include", header))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range prototype.FindAllStringSubmatch(strings.ReplaceAll(string(text), " GAUGEBLOCK_OR_NULL", ""), -1) {
			add(found[1], found[1], found[2])
		}
	}
	files, err := filepath.Glob(filepath.Join("lib", "*.c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range definition.FindAllStringSubmatch(string(text), -1) {
			name, parameters := found[1], ownTypes.Replace(pointers.ReplaceAllString(strings.ReplaceAll(found[2], "Ptr *", "CUdeviceptr *"), "unsigned *$1"))
			if !known[name] && !notCalled.MatchString(name) {
				fmt.Fprintf(&declarations, "int own_%s(%s) __asm__(%q);\n", name, parameters, name)
			}
			add(name, "own_"+name, parameters)
		}
	}
	if n < 340 {
		t.Fatalf("%d functions are called", n)
	}
	frame, err := os.ReadFile(filepath.Join("testdata", "anycalls.c"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("@DECLARATIONS@", declarations.String(), "@CASES@", cases.String(), "@COUNT@", fmt.Sprint(n)).Replace(string(frame))
}

var (
	space    = regexp.MustCompile(`\s+`)
	declared = regexp.MustCompile(`^(.*?)(\w+)$`)
)

// callOf is a call with arguments that are drawn by their types.
func callOf(name, by, parameters string) string {
	if parameters == "void" {
		return fmt.Sprintf("calling(%q); called(%s()); break;", name, by)
	}
	text := strings.Contains(parameters, "char *name, int size") || strings.Contains(parameters, "char *id, int size")
	var before, arguments, after []string
	for i, p := range strings.Split(space.ReplaceAllString(parameters, " "), ",") {
		parts := declared.FindStringSubmatch(strings.TrimSpace(p))
		kind := strings.TrimSpace(parts[1])
		value := drawn(kind, parts[2], text)
		if strings.HasPrefix(name, "nvml") && (parts[2] == "handle" || parts[2] == "other") && kind == "void *" {
			value = "(void *)(uintptr_t)draw(4)"
		}
		before = append(before, fmt.Sprintf("%s a%d = %s;", kind, i, value))
		arguments = append(arguments, fmt.Sprintf("a%d", i))
		if pointed := strings.TrimSuffix(kind, "*"); pointed != kind && handle.MatchString(strings.TrimSpace(pointed)) {
			pointed = strings.TrimSpace(pointed)
			switch any := pointed == "void *" || pointed == "CUdeviceptr"; {
			case any && addresses[parts[2]]:
				after = append(after, fmt.Sprintf("if (r == 0 && a%d) keep(addresses, *(void **)a%d);", i, i))
			case !any || things[parts[2]]:
				after = append(after, fmt.Sprintf("if (r == 0 && a%d) keep(handles, *(void **)a%d);", i, i))
			}
		}
	}
	if strings.Contains(name, "Free") || strings.Contains(name, "Unregister") || strings.Contains(name, "IpcClose") {
		after = append(after, "forget((void *)a0);")
	}
	if strings.Contains(name, "CtxDestroy") || strings.Contains(name, "CtxRelease") || strings.Contains(name, "PoolDestroy") || strings.Contains(name, "Reset") {
		after = append(after, "forget_all();") // their memory is gone
	}
	return fmt.Sprintf("{ %s calling(%q); int r = called(%s(%s)); %s } break;", strings.Join(before, " "), name, by, strings.Join(arguments, ", "), strings.Join(after, " "))
}

// handle are the types whose values are kept: an object of CUDA, or an address.
var handle = regexp.MustCompile(`^(cuda(Stream|Event|Graph|GraphExec|GraphNode|MemPool|UserObject)_t|CU(stream|event|graph|memoryPool|context|module|function|library|kernel|deviceptr)|void \*)$`)

// places are names of parameters for answers, which are on the host.
var places = map[string]bool{"data": true, "value": true, "handle": true, "map": true, "parameters": true, "edges": true, "uuid": true}

// things are names of parameters that are an object of CUDA.
var things = map[string]bool{"stream": true, "event": true, "from": true, "to": true, "graph": true, "exec": true, "node": true, "pool": true, "context": true,
	"module": true, "function": true, "library": true, "kernel": true, "object": true, "state": true}

// addresses are names of parameters for the address of memory that is at least as large as any size that is drawn.
var addresses = map[string]bool{"ptr": true, "device": true, "base": true}

// drawn is an expression of a type.
func drawn(kind, name string, text bool) string {
	switch {
	case name == "image" || name == "code":
		return "draw(3) ? memory : NULL"
	case kind == "const char *":
		return "draw_text()"
	case kind == "void *" && things[name]:
		return "draw_handle()"
	case handle.MatchString(kind) && kind != "void *" && kind != "CUdeviceptr":
		return fmt.Sprintf("(%s)draw_handle()", kind)
	case strings.HasSuffix(kind, "void *") && places[name], strings.HasSuffix(kind, "**"):
		return fmt.Sprintf("(%s)draw_place(%d)", kind, btoi(strings.HasSuffix(kind, "**")))
	case kind == "void *", kind == "const void *", kind == "CUdeviceptr":
		return fmt.Sprintf("(%s)draw_memory()", kind)
	case kind == "CUdeviceptr *":
		return "(CUdeviceptr *)draw_place(2)"
	case strings.HasSuffix(kind, "*"):
		return fmt.Sprintf("(%s)draw_place(0)", kind)
	case strings.Contains(kind, "HostFn") || strings.Contains(kind, "CUhostFn"):
		return fmt.Sprintf("draw(2) ? (%s)nothing : 0", kind)
	case strings.Contains(kind, "Callback"):
		return fmt.Sprintf("draw(2) ? (%s)nothing_of_stream : 0", kind)
	case kind == "size_t":
		return "draw_size()"
	case name == "count" || text:
		return fmt.Sprintf("(%s)draw(4)", kind)
	case strings.Contains(kind, "IpcMem") || strings.Contains(kind, "IpcEvent") || strings.Contains(kind, "ipc"), strings.Contains(kind, "emLocation"), kind == "struct three":
		return fmt.Sprintf("*(%s *)draw_struct()", kind)
	}
	return fmt.Sprintf("(%s)draw_number()", kind)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sanitizers are those of the compiler, with the ways of calling that each can see. A forked child may
// inherit a lock of a sanitizer's that is held, so that mode has none. The sanitizer of threads sees what the
// libraries do in C; the machine behind them is Go, which "make race" looks at.
var sanitizers = []struct {
	name    string
	options []string
	modes   []string
}{
	{"none", nil, []string{"fork"}},
	{"addresses", []string{"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"}, []string{"plain", "threads", "exit", "pinned"}},
	{"threads", []string{"-g", "-fsanitize=thread"}, []string{"threads", "exit", "pinned"}},
}

// callersCompiler is the compiler of C, with which the libraries are built.
func callersCompiler(t *testing.T) string {
	t.Helper()
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return compiler
}

// TestAnyCalls runs the random callers.
func TestAnyCalls(t *testing.T) {
	compiler := callersCompiler(t)
	calls, seeds := "4000", 3
	if testing.Short() {
		calls, seeds = "1000", 1
	}
	for _, s := range sanitizers {
		t.Run(s.name, func(t *testing.T) {
			dir := buildSanitized(t, s.options)
			program := buildCaller(t, compiler, dir, s.options...)
			for _, mode := range s.modes {
				for seed := range seeds {
					out, err := callAny(dir, program, mode, fmt.Sprint(seed+1), calls)
					if strings.Contains(out, "unexpected memory mapping") {
						t.Skip("no sanitizers: this system's addresses are too random for the one of threads")
					}
					if err != nil || !strings.Contains(out, "every call returned") {
						t.Errorf("%s, seed %d: %v\n%s", mode, seed+1, err, out)
					}
				}
			}
		})
	}
}

// answered are the callers of TestAnswers: one that goes far, and others that begin anew, where most is not set up yet, on
// other machines, and where there is hardly any memory.
var answered = []struct {
	calls, seeds int
	variables    []string
}{
	{30000, 1, []string{"GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MEMORY=1GiB"}},
	{1000, 12, []string{"GAUGEBLOCK_CUDA_DEVICES=1", "GAUGEBLOCK_CUDA_MEMORY=1GiB", "GAUGEBLOCK_CUDA_GPU=t4"}},
	{1500, 6, []string{"GAUGEBLOCK_CUDA_DEVICES=3", "GAUGEBLOCK_CUDA_MEMORY=3MiB", "GAUGEBLOCK_CUDA_NVML=GPU of a test|1000000|2000|7|5|4"}},
	{1500, 6, []string{"GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MEMORY=64KiB", "GAUGEBLOCK_CUDA_NVML=wrong|5", "GAUGEBLOCK_CUDA_PEERS=no"}},
	{1500, 6, []string{"GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MEMORY=1GiB", "GAUGEBLOCK_CUDA_DEFAULT_STREAM=legacy"}},
	{1500, 6, []string{"GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MEMORY=1GiB", "GAUGEBLOCK_CUDA_FAULTS=" + failingCalls()}},
}

// failingCalls are calls of the machine that fail: of each kind the second and the fifth.
func failingCalls() string {
	var list []string
	for _, call := range spec.DriverCalls() {
		list = append(list, call+":2:unknown", call+":5:out_of_memory")
	}
	return strings.Join(list, ",")
}

// TestAnswers: what each function answers to such calls is what it answered before: how often which error, and a number
// for what it wrote. Whether that is CUDA's answer is the matter of other tests; this one sees that none has changed.
func TestAnswers(t *testing.T) {
	compiler := callersCompiler(t)
	dir := buildSanitized(t, nil)
	program := buildCaller(t, compiler, dir)
	var told bytes.Buffer
	for i, a := range answered {
		for seed := range a.seeds {
			c := exec.Command(program, "plain", fmt.Sprint(7+100*i+seed), fmt.Sprint(a.calls))
			c.Env = append(append(os.Environ(), "TRACE=1", "GAUGEBLOCK_CUDA_REPORT="+filepath.Join(dir, "report")), a.variables...)
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
			}
			told.Write(out)
		}
	}
	kept.Compare(t, "testdata/anycalls.txt", answersOf(told.String()))
}

// answersOf is a line for each function: the results, how often each came, and the numbers for what was written.
func answersOf(trace string) string {
	type answers struct {
		results map[int]int
		written uint32
	}
	all := map[string]*answers{}
	for _, call := range regexp.MustCompile(`(\w+) = (-?\d+) ([0-9a-f]{8})`).FindAllStringSubmatch(trace, -1) {
		a := all[call[1]]
		if a == nil {
			a = &answers{results: map[int]int{}}
			all[call[1]] = a
		}
		result, _ := strconv.Atoi(call[2])
		sum, _ := strconv.ParseUint(call[3], 16, 32)
		a.results[result]++
		a.written = a.written*31 + uint32(sum)
	}
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprint(&out, name)
		for _, result := range slices.Sorted(maps.Keys(all[name].results)) {
			fmt.Fprintf(&out, " %d*%d", all[name].results[result], result)
		}
		fmt.Fprintf(&out, " %08x\n", all[name].written)
	}
	return out.String()
}

var (
	fuzzSeconds = flag.Int("fuzz-seconds", 0, "how long TestFuzz looks for a call that crashes; 0: 100,000 inputs")
	thinCalls   = flag.Int("thin-calls", 0, "how many calls TestAnyThinCalls makes of the libraries above CUDA")
)

// TestFuzz lets libFuzzer choose the calls, by the branches of the libraries that they take.
func TestFuzz(t *testing.T) {
	compiler, err := Compiler("CLANG", "clang", "clang-19", "clang-16", "clang-14")
	if err != nil {
		t.Skip("there is no clang")
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CC", compiler)
	const options = "-fsanitize=address,undefined"
	dir := buildSanitized(t, []string{"-g", "-fsanitize=fuzzer-no-link", options, "-fno-sanitize-recover=undefined"})
	program := buildCaller(t, compiler, dir, "-g", "-DFUZZER", "-fsanitize=fuzzer", options, "-fno-sanitize-recover=undefined")
	most := 100000
	if testing.Short() {
		most = 10000
	}
	limit := fmt.Sprintf("-runs=%d", most)
	if *fuzzSeconds > 0 {
		limit = fmt.Sprintf("-max_total_time=%d", *fuzzSeconds)
	}
	out, err := callAny(dir, program, "-seed=1", "-max_len=1024", "-timeout=60", "-detect_leaks=0", limit, "-artifact_prefix="+dir+"/")
	done := strings.LastIndex(out, "Done ")
	if err == nil && done >= 0 {
		t.Log(out[done:])
		return
	}
	t.Errorf("%v\n%s", err, out)
	inputs, err := filepath.Glob(filepath.Join(dir, "crash-*"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no input: %v", err)
	}
	t.Setenv("TRACE", "1")
	out, _ = callAny(dir, program, inputs[0])
	t.Logf("the calls of the input:\n%s", out)
}

// buildSanitized builds the libraries with options of the compiler, beside the machine.
func buildSanitized(t *testing.T, options []string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := Build(dir, options...); err != nil {
		t.Skipf("no sanitizers: %v", err)
	}
	if err := os.Symlink(filepath.Join(scratch, MachineName), filepath.Join(dir, MachineName)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// callAny runs a caller, and returns the end of what it says.
func callAny(dir, program string, arguments ...string) (out string, err error) {
	c := exec.Command(program, arguments...)
	c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0", "GAUGEBLOCK_CUDA_DEVICES=2",
		"GAUGEBLOCK_CUDA_REPORT="+filepath.Join(dir, "report"), "GAUGEBLOCK_CUDA_MEMORY=1GiB")
	text, err := c.CombinedOutput()
	return string(text[max(0, len(text)-100000):]), err
}

// buildCaller builds the program against the libraries in a directory.
func buildCaller(t *testing.T, compiler, dir string, options ...string) (program string) {
	t.Helper()
	source, program := filepath.Join(dir, "anycalls.c"), filepath.Join(dir, "anycalls")
	if err := os.WriteFile(source, []byte(caller(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-w", "-o", program, source, "-I" + filepath.Join(dir, "include"), "-L" + dir, "-lcudart", "-lcuda", "-l:libnvidia-ml.so.1", "-pthread", "-Wl,--disable-new-dtags,-rpath," + dir}
	if err := Run(exec.Command(compiler, append(args, options...)...)); err != nil {
		t.Fatal(err)
	}
	return program
}
