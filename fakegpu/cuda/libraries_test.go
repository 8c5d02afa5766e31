package cuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/testfolder"
)

// scratch is a directory that is there while tests run.
var scratch string

func TestMain(m *testing.M) { testfolder.Run(m, &scratch) }

// built builds them, the machine among them, and decoys, once.
var built = sync.OnceValue(func() error {
	return errors.Join(Build(scratch), BuildMachine(filepath.Join("..", ".."), scratch), buildDecoys())
})

// decoys is a directory with empty libraries of the same names. LD_LIBRARY_PATH leads to it: so it
// leads to CUDA's own libraries on a machine that has them, and a program that was linked with ours
// must not find those.
func decoys() string { return filepath.Join(scratch, "decoys") }

func buildDecoys() error {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		return err
	}
	err = os.MkdirAll(decoys(), 0o755)
	for _, name := range []string{"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} {
		err = errors.Join(err, Run(exec.Command(compiler, "-shared", "-fPIC", "-x", "c", os.DevNull, "-o", filepath.Join(decoys(), name))))
	}
	return err
}

// compile builds a program of testdata against the libraries; the test is skipped where
// there is no compiler.
func compile(t *testing.T, source string) (program string) {
	t.Helper()
	variable, others := "CC", []string{"cc", "gcc", "clang"}
	if filepath.Ext(source) == ".cc" {
		variable, others = "CXX", []string{"c++", "g++", "clang++"}
	}
	if _, err := Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	compiler, err := Compiler(variable, others...)
	if err != nil {
		t.Skipf("no compiler for %s", source)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(scratch, strings.TrimSuffix(source, filepath.Ext(source)))
	build := exec.Command(compiler, "-o", program, filepath.Join("testdata", source), "-I"+filepath.Join(scratch, "include"),
		"-L"+scratch, "-lcudart", "-lcuda", "-pthread", "-ldl", "-Wl,--disable-new-dtags,-rpath,"+scratch)
	if err := Run(build); err != nil {
		t.Fatal(err)
	}
	return program
}

// run runs a program with variables; it is an error if it fails.
func run(t *testing.T, program string, arguments []string, variables ...string) (out string, report string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report")
	c := exec.Command(program, arguments...)
	c.Env = append(os.Environ(), append(variables, "GAUGEBLOCK_CUDA_REPORT="+file, "LD_LIBRARY_PATH="+decoys())...)
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	found, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), string(found)
}

// A stranger's program in which an event is forgotten.
func TestForgottenEvent(t *testing.T) {
	program := compile(t, "forgotten_event.cc")
	out, report := run(t, program, nil)
	if !strings.Contains(report, "1 hazards\n") || !strings.Contains(report, "unordered: fill (work 1") {
		t.Errorf("with the event forgotten the report is %q", report)
	}
	if out != "7 7 7 7\n" { // at once is the luckiest order
		t.Errorf("with the event forgotten it prints %q", out)
	}
	if out, _ = run(t, program, nil, "GAUGEBLOCK_CUDA_SCHEDULE=lazy"); out == "7 7 7 7\n" {
		t.Error("with the event forgotten, and work done late, the copy still comes behind what it copies")
	}
	if out, report = run(t, program, []string{"remembered"}, "GAUGEBLOCK_CUDA_SCHEDULE=lazy"); report != "fake CUDA: 0 hazards\n" || out != "7 7 7 7\n" {
		t.Errorf("with the event remembered it prints %q, and the report is %q", out, report)
	}
	if _, report = run(t, program, nil, "GAUGEBLOCK_CUDA_HAZARDS=owners"); report != "fake CUDA: 0 hazards\n" {
		t.Errorf("races are reported although only owners are looked at: %q", report)
	}
}

// The runtime's calls beyond those of the conversations.
func TestCalls(t *testing.T) {
	program := compile(t, "calls.c")
	out, _ := run(t, program, nil, "GAUGEBLOCK_CUDA_HAZARDS=owners")
	if strings.Count(out, "cuArrayDestroy is not supported") != 1 || strings.Contains(out, "cuNoSuchThing") {
		t.Errorf("the one function that is called and not there is not what is logged: %q", out)
	}
}

// What an H200 has answered, about times of events, events of other processes, and memory that
// is requested in captures; and about pools that are exported: the libraries answer alike.
func TestQuestions(t *testing.T) {
	answersAlike(t, "exports", nil, "GAUGEBLOCK_CUDA_MACHINE="+filepath.Join(t.TempDir(), "exports"))
	answersAlike(t, "questions", nil, "GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MACHINE="+filepath.Join(t.TempDir(), "machine"))
}

// TestOpeningFails: an opening of a pool's memory in which a driver call fails leaves nothing behind, and the
// caller's pointer as it was.
func TestOpeningFails(t *testing.T) {
	program := compile(t, "open_fails.c")
	for _, call := range []string{"ImportPage", "MapPage", "SetAccess"} {
		machine := "GAUGEBLOCK_CUDA_MACHINE=" + filepath.Join(t.TempDir(), "machine")
		out, _ := run(t, program, []string{call}, machine)
		if failed := regexp.MustCompile(`(?m)^cuMemPoolImportPointer.* 2\nthen the pointer is 7$`).FindAllString(out, -1); len(failed) != 1 || !strings.HasSuffix(out, "\n0 bytes are missing\n") {
			t.Errorf("%s fails:\n%s", call, out)
		}
	}
}

// What two H200 have answered about flags and priorities of streams, what waits for what, functions of
// the host and threads; about pools of all kinds of memory; about memory of the host; about the driver's
// interface; and one about growth of pools, what they give back, and directions of copies.
func TestMoreQuestions(t *testing.T) {
	for _, name := range []string{"streams", "otherpools", "growth", "hostkinds", "contexts"} {
		t.Run(name, func(t *testing.T) {
			answersAlike(t, name, nil, "GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_GPU=h200")
		})
	}
}

// TestForms: C++ has forms of functions that C has not.
func TestForms(t *testing.T) {
	if out, _ := run(t, compile(t, "forms.cc"), nil, "GAUGEBLOCK_CUDA_DEVICES=2"); out != "0 wrong\n" {
		t.Error(out)
	}
}

// A function of the host orders what the host does when it has seen its effect, whenever work is done,
// and races on memory of the host are found as those on the device's.
func TestSeen(t *testing.T) {
	program := compile(t, "seen.c")
	for _, schedule := range []string{"eager", "lazy", "random"} {
		for _, memory := range []string{"device", "pinned", "managed"} {
			for want, arguments := range map[string][]string{"1 hazards\n": {memory}, "0 hazards\n": {memory, "function"}} {
				if out, _ := run(t, program, arguments, "GAUGEBLOCK_CUDA_SCHEDULE="+schedule); out != want {
					t.Errorf("%s, %v: %q, want %q", schedule, arguments, out, want)
				}
			}
		}
	}
}

// Which calls an H200 has allowed to a thread while a stream was being captured, in 288 cases. A thread
// of another process than the machine's has the same rights.
func TestRights(t *testing.T) {
	answersAlike(t, "rights", nil)
	answersAlike(t, "rights", []string{"guest"}, "GAUGEBLOCK_CUDA_MACHINE="+filepath.Join(t.TempDir(), "machine"))
}

// answersAlike compares what a program of testdata prints with what an H200 has answered.
func answersAlike(t *testing.T, name string, arguments []string, variables ...string) {
	t.Helper()
	program := compile(t, name+".c")
	want, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, report := run(t, program, arguments, variables...)
	if got == string(want) && report == "fake CUDA: 0 hazards\n" {
		return
	}
	t.Errorf("the report is %q", report)
	lines, wanted := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(lines), len(wanted)) {
		if lines[i] != wanted[i] {
			t.Errorf("line %d: %s\nan H200 says %s", i+1, lines[i], wanted[i])
		}
	}
}

// Kernels that the host computes, and memory that it reaches.
func TestComputes(t *testing.T) {
	program := compile(t, "computes.c")
	out, report := run(t, program, nil, "GAUGEBLOCK_CUDA_BYTES=host", "GAUGEBLOCK_CUDA_MEMORY=256MiB")
	if out != "0 wrong\n" || report != "fake CUDA: 0 hazards\n" {
		t.Errorf("it says %q, and the report is %q", out, report)
	}
	if out, _ = run(t, program, []string{"without"}); out != "0 wrong\n" {
		t.Errorf("without the variable it says %q", out)
	}
}

// What a thread has waited for another one knows only if it was told.
func TestThreads(t *testing.T) {
	program := compile(t, "threads.c")
	for _, c := range []struct {
		threads, want string
		arguments     []string
	}{
		{"one", "0 hazards\n", nil},
		{"own", "1 hazards\n", nil},
		{"own", "0 hazards\n", []string{"told"}},
	} {
		if out, _ := run(t, program, c.arguments, "GAUGEBLOCK_CUDA_THREADS="+c.threads); out != c.want {
			t.Errorf("threads %s, %v: %q, want %q", c.threads, c.arguments, out, c.want)
		}
	}
}

// The machine is what the environment says at the first call, also if the program has overwritten what it was started with.
func TestEnvironment(t *testing.T) {
	out, _ := run(t, compile(t, "environment.c"), nil, "GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_MEMORY=1GiB")
	if out != "2 devices of 3221225472\n" {
		t.Error(out)
	}
}

// Variables that make no sense end the program, and say which.
func TestBadEnvironment(t *testing.T) {
	program := compile(t, "forgotten_event.cc")
	for variable, value := range map[string]string{
		"GAUGEBLOCK_CUDA_DEVICES": "0", "GAUGEBLOCK_CUDA_MEMORY": "much", "GAUGEBLOCK_CUDA_SCHEDULE": "slow",
		"GAUGEBLOCK_CUDA_FAULTS": "Malloc:1:because", "GAUGEBLOCK_CUDA_SEED": "-1", "GAUGEBLOCK_CUDA_BYTES": "paper",
		"GAUGEBLOCK_CUDA_THREADS": "2",
	} {
		c := exec.Command(program)
		c.Env = append(os.Environ(), variable+"="+value)
		out, err := c.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != 2 || !strings.Contains(string(out), variable) {
			t.Errorf("%s=%s: %v, %q", variable, value, err, out)
		}
	}
}

// Kernels, properties and host memory, as several devices have them. That of the code which the
// program has fits none of the two Hoppers: an 80 and an 86.
func TestKernels(t *testing.T) {
	program := compile(t, "kernels.c")
	for _, c := range []struct {
		gpu  string
		want []string
	}{
		{"h200", []string{"NVIDIA H200", "9", "0", "132", "8", "0"}},
		{"a100-80", []string{"NVIDIA A100-SXM4-80GB", "8", "0", "108", "8", "80"}},
		{"4090", []string{"NVIDIA GeForce RTX 4090", "8", "9", "128", "6", "86"}},
		{"t4", []string{"Tesla T4", "7", "5", "40", "4", "0"}},
	} {
		gpu, found := gpus.Find(c.gpu)
		if !found {
			t.Fatal(c.gpu)
		}
		late := gpu.Late()
		expected := append(c.want, strconv.FormatUint(gpu.Memory-gpu.Context+late.Kernel+late.Product, 10))
		out, _ := run(t, program, expected, "GAUGEBLOCK_CUDA_GPU="+c.gpu, "GAUGEBLOCK_CUDA_HAZARDS=off")
		if out != "0 wrong\n" {
			t.Errorf("%s: %s", c.gpu, out)
		}
	}
}

// By a model of durations code is loaded once, with all its kernels.
func TestCode(t *testing.T) {
	if out, _ := run(t, compile(t, "code.c"), nil, "GAUGEBLOCK_CUDA_SCHEDULE=time", "GAUGEBLOCK_CUDA_GPU=a100-80", "GAUGEBLOCK_CUDA_HAZARDS=off"); out != "1 0 1\n" {
		t.Error(out)
	}
}

// With no bytes kept, what is copied out is zeros, whatever memory of the host it goes to. Memory of the
// host keeps its bytes.
func TestNoBytes(t *testing.T) {
	for name, want := range map[string]string{
		"forgotten_event.cc": "0 0 0 0\n",
		"no_bytes.cc":        "00 00 00 00 00 00 00 00 55 55 55 33 33 33 \n",
	} {
		program := compile(t, name)
		if out, report := run(t, program, nil, "GAUGEBLOCK_CUDA_BYTES=none"); out != want || report != "fake CUDA: 0 hazards\n" {
			t.Errorf("%s prints %q, and the report is %q", name, out, report)
		}
	}
}
