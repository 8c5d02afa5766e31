package examine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
	"gaugeblock/spec/trace"
)

// TestPrograms: the shortest program of a violation is written as a trace, in C++ and in
// Python. That in C++ finds the same on the library, and nothing on a sound one; that in
// Python makes the calls of PyTorch that it should.
func TestPrograms(t *testing.T) {
	compiler := build(t)
	library, dir := compile(t, "cache.cc"), t.TempDir()
	plant(t, "FAULT=forgets_streams")
	report, err := Search{Library: library, Level: conformance.Safe, Operations: 700, Devices: 1, Directory: dir, Build: scratch}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Violations) == 0 || len(report.Violations[0].Programs) != 2 {
		t.Fatalf("%v", report)
	}
	v := &report.Violations[0]
	_, ops := v.Program()
	if _, written, _, err := trace.ReadFile(v.File); err != nil || len(written) != len(ops) {
		t.Errorf("%s: %d operations of %d (%v)", v.File, len(written), len(ops), err)
	}
	if err := cuda.BuildMachine(filepath.Join("..", ".."), scratch); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	if err := cuda.Run(exec.Command(compiler, "-std=c++17", "-Wall", "-Wextra", "-Werror", v.Programs[0], "-I"+filepath.Join(scratch, "include"),
		"-L"+scratch, "-lcudart", "-lcuda", "-ldl", "-o", program)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		fault  string
		status int
	}{{"forgets_streams", 1}, {"none", 0}} {
		c := exec.Command(program, library)
		c.Env = append(os.Environ(), "FAULT="+test.fault, "LD_LIBRARY_PATH="+scratch, "GAUGEBLOCK_CUDA_HAZARDS=owners", "GAUGEBLOCK_CUDA_WAITS=drain", "GAUGEBLOCK_CUDA_ADDRESSES=ascending")
		out, err := c.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) || c.ProcessState.ExitCode() != test.status {
			t.Errorf("%s: %v\n%s", test.fault, err, out)
		}
		if found := strings.Contains(string(out), "hazard: unordered"); found != (test.status == 1) {
			t.Errorf("%s:\n%s", test.fault, out)
		}
	}
	python := exec.Command(tool(t, "python3"), v.Programs[1], library)
	python.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("testdata", "stub"), "LD_LIBRARY_PATH="+scratch)
	out, err := python.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, call := range []string{"CUDAPluggableAllocator my_malloc my_free", "set_reset_fn", "change_current_allocator", "Stream", fmt.Sprintf("empty %d cuda:0", ops[0].Size)} {
		if !slices.ContainsFunc(calls, func(line string) bool { return strings.HasPrefix(line, call) }) {
			t.Errorf("the program in Python does not call %s:\n%s", call, out)
		}
	}
}

// TestPythonCannot: PyTorch cannot be made to free on another stream, or its driver to fail.
func TestPythonCannot(t *testing.T) {
	for _, op := range []trace.Op{{Kind: trace.OpFreeOn}, {Kind: trace.OpFault}, {Kind: trace.OpDestroyStream}} {
		w := &writer{header: trace.Header{Devices: 1}, ops: []trace.Op{op}}
		if _, can := w.python(); can {
			t.Errorf("%s can be said in Python", op.Kind)
		}
		if _, can := w.cplusplus(); !can {
			t.Errorf("%s cannot be said in C++", op.Kind)
		}
	}
}
