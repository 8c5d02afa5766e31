package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Random callers of the libraries' C interface, under the sanitizers of the compiler: every function that
// the headers declare, with null, stale, made-up and ordinary arguments, in any order, from threads that
// end, from forked children and while the process ends. A CUDA answers with an error; so must these. What
// would crash CUDA too is not tried: sizes larger than a buffer, and pointers into nowhere.

// prototype is a declaration of a function.
var prototype = regexp.MustCompile(`(?m)^(?:cudaError_t|CUresult) (\w+)\(([^;]*)\);`)

// notCalled are functions that wait for ever, as CUDA does, if they are called at random.
var notCalled = regexp.MustCompile(`WaitValue`)

// caller writes the program that calls the functions of the headers.
func caller(t *testing.T) string {
	t.Helper()
	var cases strings.Builder
	n := 0
	for _, header := range []string{"gaugeblock_cuda.h", "gaugeblock_cuda_driver.h"} {
		text, err := os.ReadFile(filepath.Join("include", header))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range prototype.FindAllStringSubmatch(strings.ReplaceAll(string(text), " GAUGEBLOCK_OR_NULL", ""), -1) {
			if notCalled.MatchString(found[1]) {
				continue
			}
			fmt.Fprintf(&cases, "\tcase %d: %s\n", n, callOf(found[1], found[2]))
			n++
		}
	}
	if n < 150 {
		t.Fatalf("the headers declare %d functions", n)
	}
	frame, err := os.ReadFile(filepath.Join("testdata", "anycalls.c"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("@CASES@", cases.String(), "@COUNT@", fmt.Sprint(n)).Replace(string(frame))
}

var (
	space    = regexp.MustCompile(`\s+`)
	declared = regexp.MustCompile(`^(.*?)(\w+)$`)
)

// callOf is a call with arguments that are drawn by their types.
func callOf(name, parameters string) string {
	if parameters == "void" {
		return fmt.Sprintf("calling(%q); called(%s()); break;", name, name)
	}
	text := strings.Contains(parameters, "char *name, int size") || strings.Contains(parameters, "char *id, int size")
	var before, arguments, after []string
	for i, p := range strings.Split(space.ReplaceAllString(parameters, " "), ",") {
		parts := declared.FindStringSubmatch(strings.TrimSpace(p))
		kind := strings.TrimSpace(parts[1])
		before = append(before, fmt.Sprintf("%s a%d = %s;", kind, i, drawn(kind, parts[2], text)))
		arguments = append(arguments, fmt.Sprintf("a%d", i))
		if pointed := strings.TrimSuffix(kind, "*"); pointed != kind && handle.MatchString(strings.TrimSpace(pointed)) {
			list := "handles"
			if strings.TrimSpace(pointed) == "void *" || strings.TrimSpace(pointed) == "CUdeviceptr" {
				list = "addresses"
			}
			after = append(after, fmt.Sprintf("if (r == 0 && a%d) keep(%s, *(void **)a%d);", i, list, i))
		}
	}
	if strings.Contains(name, "Free") || strings.Contains(name, "Unregister") || strings.Contains(name, "IpcClose") {
		after = append(after, "forget((void *)a0);")
	}
	if strings.Contains(name, "CtxDestroy") || strings.Contains(name, "CtxRelease") || strings.Contains(name, "PoolDestroy") || strings.Contains(name, "Reset") {
		after = append(after, "forget_all();") // their memory is gone
	}
	return fmt.Sprintf("{ %s calling(%q); int r = called(%s(%s)); %s } break;", strings.Join(before, " "), name, name, strings.Join(arguments, ", "), strings.Join(after, " "))
}

// handle are the types whose values are kept: an object of CUDA, or an address.
var handle = regexp.MustCompile(`^(cuda(Stream|Event|Graph|GraphExec|GraphNode|MemPool|UserObject)_t|CU(stream|event|graph|memoryPool|context|module|function|library|kernel|deviceptr)|void \*)$`)

// drawn is an expression of a type.
func drawn(kind, name string, text bool) string {
	switch {
	case name == "image" || name == "code":
		return "draw(3) ? memory : NULL"
	case kind == "const char *":
		return "draw_text()"
	case handle.MatchString(kind) && kind != "void *" && kind != "CUdeviceptr":
		return fmt.Sprintf("(%s)draw_handle()", kind)
	case kind == "void *" && (name == "data" || name == "value"), strings.HasSuffix(kind, "**"):
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
	case strings.Contains(kind, "IpcMem") || strings.Contains(kind, "IpcEvent") || strings.Contains(kind, "ipc"), strings.Contains(kind, "emLocation"):
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

// TestAnyCalls runs the random callers.
func TestAnyCalls(t *testing.T) {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	options := []string{"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"}
	if err := Build(dir, options...); err != nil {
		t.Skipf("no sanitizers: %v", err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(scratch, MachineName), filepath.Join(dir, MachineName)); err != nil {
		t.Fatal(err)
	}
	sanitized, plain := buildCaller(t, compiler, dir, options...), buildCaller(t, compiler, scratch)
	calls, seeds := "4000", 3
	if testing.Short() {
		calls, seeds = "1000", 1
	}
	for _, mode := range []string{"plain", "threads", "fork", "exit"} {
		program := sanitized
		if mode == "fork" {
			program = plain // a child may inherit a lock of the sanitizer's that is held
		}
		for seed := range seeds {
			c := exec.Command(program, mode, fmt.Sprint(seed+1), calls)
			c.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0", "GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_REPORT="+filepath.Join(dir, "report"), "GAUGEBLOCK_CUDA_MEMORY=1GiB")
			out, err := c.CombinedOutput()
			if last := string(out[max(0, len(out)-300000):]); err != nil || !strings.Contains(last, "every call returned") {
				t.Errorf("%s, seed %d: %v\n%s", mode, seed+1, err, last)
			}
		}
	}
}

// buildCaller builds the program against the libraries in a directory.
func buildCaller(t *testing.T, compiler, dir string, options ...string) (program string) {
	t.Helper()
	source, program := filepath.Join(dir, "anycalls.c"), filepath.Join(dir, "anycalls")
	if err := os.WriteFile(source, []byte(caller(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-w", "-o", program, source, "-I" + filepath.Join(dir, "include"), "-L" + dir, "-lcudart", "-lcuda", "-pthread", "-Wl,--disable-new-dtags,-rpath," + dir}
	if err := Run(exec.Command(compiler, append(args, options...)...)); err != nil {
		t.Fatal(err)
	}
	return program
}
