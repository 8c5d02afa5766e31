package run

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/gpus"
	"gaugeblock/internal/quote"
	"gaugeblock/internal/testfolder"
	"gaugeblock/snapshot"
)

// pythonVariable names Pythons with PyTorch, one behind another as in PATH.
const pythonVariable = "GAUGEBLOCK_TORCH_PYTHON"

var scratch string

func TestMain(m *testing.M) { testfolder.Run(m, &scratch) }

// libraries builds the libraries once, where the tool finds them.
var libraries = sync.OnceValue(func() error {
	folder := filepath.Join(scratch, "libraries")
	if err := build(folder); err != nil {
		return err
	}
	return os.Setenv(LibrariesVariable, folder)
})

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pythons are the Pythons with PyTorch that the variable names.
func pythons(t *testing.T) []string {
	t.Helper()
	given := os.Getenv(pythonVariable)
	if given == "" {
		t.Skipf("%s names no Python with PyTorch", pythonVariable)
	}
	needsLibraries(t)
	return filepath.SplitList(given)
}

func needsLibraries(t *testing.T) {
	t.Helper()
	if _, err := cuda.Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	if err := libraries(); err != nil {
		t.Fatal(err)
	}
}

// runs runs a command, which must end with a status.
func runs(t *testing.T, o Options, status int) *Result {
	t.Helper()
	if o.GPU.Word == "" {
		o.GPU = gpus.All[0]
	}
	o.GPUs = max(o.GPUs, 1)
	o.Say = func(line string) { t.Log(line) }
	r, err := Run(o, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != status {
		t.Fatalf("%v ended with %d, not %d", o.Command, r.Status, status)
	}
	return r
}

// Programs that are no Python find the libraries as well.
func TestProgramInC(t *testing.T) {
	needsLibraries(t)
	program := filepath.Join(t.TempDir(), "program")
	write(t, filepath.Dir(program), "program.c", `
		#include "gaugeblock_cuda.h"
		int main(void) {
			struct cudaDeviceProp p;
			return cudaGetDeviceProperties(&p, 0) != 0 || p.totalGlobalMem != 24ull << 30 ? 9 : 7;
		}`)
	compiler, err := cuda.Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	folder := os.Getenv(LibrariesVariable)
	if err := cuda.Run(exec.Command(compiler, program+".c", "-o", program, "-I"+filepath.Join(folder, "include"), "-L"+folder, "-lcudart", "-Wl,-rpath-link,"+folder)); err != nil {
		t.Fatal(err)
	}
	runs(t, Options{Command: []string{program}, Memory: 24 << 30}, 7)
}

// Python itself is not changed for a program without PyTorch, and its own sitecustomize is run.
func TestPythonWithoutTorch(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	needsLibraries(t)
	own := t.TempDir()
	write(t, own, "sitecustomize.py", "import builtins\nbuiltins.own = 5\n")
	t.Setenv("PYTHONPATH", own)
	r := runs(t, Options{Command: []string{python, "-c", "import sys; sys.exit(own)"}}, 5)
	if len(r.Processes) != 0 || !strings.Contains(told(*r), "no process") {
		t.Errorf("%+v", r)
	}
}

// An extension of Python can name a function of CUDA's libraries that nobody has met, as long as it does not call it.
func TestExtensionNamesMore(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	needsLibraries(t)
	compiler, err := cuda.Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	own := t.TempDir()
	write(t, own, "extension.c", `
		void *PyModule_Create2(void *definition, int version);
		int cublasOfAnotherYear(void);
		int later(void) { return cublasOfAnotherYear(); }
		static const void *definition[13] = {(void *)1, 0, 0, 0, 0, "extension", 0, (void *)-1}; // struct PyModuleDef
		void *PyInit_extension(void) { return PyModule_Create2(definition, 1013); }`)
	if err := cuda.Run(exec.Command(compiler, "-shared", "-fPIC", "-Wl,-z,lazy", filepath.Join(own, "extension.c"), "-o", filepath.Join(own, "extension.so"))); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", own)
	runs(t, Options{Command: []string{python, "-c", "import extension, sys; sys.exit(6)"}}, 6)
}

// A Python that does not read PYTHONPATH knows nothing of the fake GPU, which is told.
func TestPythonAlone(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	needsLibraries(t)
	const unread, nothing = "no answer: no Python read PYTHONPATH", "no process allocated GPU memory"
	for want, commands := range map[string][][]string{
		unread:  {{python, "-I", "-c", "pass"}, {python, "-E", "-c", "pass"}, {python, "-S", "-c", "pass"}, {"env", "-i", python, "-c", "pass"}},
		nothing: {{python, "-c", "pass"}, {"sh", "-c", python + " -c pass"}, {"true"}, {python, "-c", "import os, shutil; shutil.rmtree(os.environ['GAUGEBLOCK_RUN_FOLDER'])"}},
	} {
		for _, command := range commands {
			if command[0] == "env" { // a script, so that it may be Python
				script := filepath.Join(t.TempDir(), "script")
				if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+strings.Join(command[:4], " ")+" pass\n"), 0o700); err != nil {
					t.Fatal(err)
				}
				command = []string{script}
			}
			if got := told(*runs(t, Options{Command: command}, 0)); !strings.Contains(got, want) {
				t.Errorf("%v: %q", command, got)
			}
		}
	}
	none := filepath.Join(t.TempDir(), "a\x1b")
	t.Setenv("PYTHONHOME", none)
	const leftOut = "-I, -E, -S and another environment leave it out"
	for _, c := range []struct {
		option string
		status int
		why    string
	}{{"-c", 1, "PYTHONHOME is " + quote.Text(none) + ": if its library is not there, Python cannot start"}, {"-Ic", 0, leftOut}} {
		got := runs(t, Options{Command: []string{python, c.option, "pass"}}, c.status).silence()
		if got != unread+"; "+c.why {
			t.Errorf("PYTHONHOME, %s: %q", c.option, got)
		}
	}
}

// Of a check that stops a program it is known which boolean lets it go on, of a number that is read whether a condition
// rests on it, of the loop around it whether it makes progress, and of a module that it is imported, not only looked for.
// parts.py has what is written, and when.
func TestPythonParts(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	for _, program := range []string{"checks.py", "conditions.py", "imports.py", "loops.py", "parts.py"} {
		command := exec.Command(python, filepath.Join("testdata", program))
		command.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "..", "python", "site"))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", program, err, out)
		}
	}
}

// The management library answers without CUDA, which a child that is forked can then use.
func TestManagement(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	needsLibraries(t)
	l4, _ := gpus.Find("l4")
	runs(t, Options{Command: []string{python, filepath.Join("testdata", "management.py")}, GPU: l4, GPUs: 2, Memory: 20 << 30}, 0)
}

// A release of PyTorch trains a small network, runs out of memory where it should, and writes a
// snapshot.
func TestTorch(t *testing.T) {
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			r := runs(t, Options{Command: []string{python, filepath.Join("testdata", "train.py")}, Memory: 2 << 30, Snapshot: true}, 1)
			failed, ended := r.Failure()
			if failed == nil || !ended || failed.At != filepath.Join("testdata", "train.py")+":21" || failed.Asked != 4<<30 || failed.Step != 3 {
				t.Errorf("%+v, ended by it: %v", failed, ended)
			}
			worst, device := r.Worst()
			if device == nil || device.PeakReserved == 0 || device.PeakAllocated > device.PeakReserved || worst.Steps != 3 {
				t.Fatalf("%+v", r)
			}
			if _, err := snapshot.OpenLimited(worst.Snapshot, 1<<30); err != nil {
				t.Error(err)
			}
		})
	}
}

// What the host computes for the numbers of small models has an end, and masks are known behind it.
func TestTorchWork(t *testing.T) {
	for _, python := range pythons(t) {
		command := []string{python, filepath.Join("testdata", "small.py")}
		want, _ := decisionsOf(t, command[1])
		if p := runs(t, Options{Command: command}, 0).Processes[0]; !maps.Equal(p.Decisions, want) {
			t.Errorf("%s: decisions %v", python, p.Decisions)
		}
	}
}

// Integers and booleans have their values, and a decision on what is not known is named.
func TestValues(t *testing.T) {
	if _, err := cuda.Compiler("CXX", "c++", "g++", "clang++"); err != nil {
		t.Skip("there is no C++ compiler")
	}
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			command := []string{python, filepath.Join("testdata", "values.py")}
			r := runs(t, Options{Command: command}, 0)
			p := r.Processes[0]
			want, twice := decisionsOf(t, command[1])
			if p.NoValues != "" || !maps.Equal(p.Decisions, want) {
				t.Errorf("%q, decisions %v", p.NoValues, p.Decisions)
			}
			if !strings.Contains(told(*r), "13 decisions rest on unknown values, 1 of them sizes: …/"+filepath.Base(twice)+" item, and 11 more") {
				t.Error(told(*r))
			}
		})
	}
}

// The allocator has the settings of the command, by the variable that each release reads.
func TestTorchSettings(t *testing.T) {
	for _, python := range pythons(t) {
		program := "import torch; x = torch.empty(1 << 20, device='cuda'); assert torch.cuda.memory_snapshot()[0]['is_expandable']"
		runs(t, Options{Command: []string{python, "-c", program}, NoValues: true, Settings: "expandable_segments:True"}, 0)
	}
}

// What is assumed of unknown values is what docs/run.md says.
func TestTorchAssumed(t *testing.T) {
	for _, python := range pythons(t) {
		runs(t, Options{Command: []string{python, filepath.Join("testdata", "assumed.py")}}, 0)
	}
}

// Beyond 2 GiB of integers only what is little is kept, until memory is free again.
func TestTorchManyIntegers(t *testing.T) {
	program := `
import torch
def ones(n):
    return torch.ones(n, dtype=torch.uint8, device="cuda")
before, much = ones(1 << 20), [torch.empty(1 << n, dtype=torch.uint8, device="cuda") for n in range(30, 19, -1)]
beyond = ones(1 << 20)
copied = torch.ones(1 << 20, dtype=torch.uint8).cuda()
sums = [int(x.sum()) for x in (before, beyond, copied, ones(1 << 16))]
del much
sums.append(int(ones(1 << 20).sum()))
assert sums == [1 << 20, 0, 0, 1 << 16, 1 << 20], sums
`
	for _, python := range pythons(t) {
		runs(t, Options{Command: []string{python, "-c", program}}, 0)
	}
}

// Loops that wait for a value that is not known are taken to end, if they are not told to wait, and who waits in vain is told.
func TestTorchWaits(t *testing.T) {
	for _, python := range pythons(t) {
		for patience, turned := range map[int]int{60: 10, -1: 0} {
			command := []string{python, filepath.Join("testdata", "waits.py"), fmt.Sprint(patience)}
			r := runs(t, Options{Command: command, Patience: patience}, 0)
			if got := r.Processes[0].Turned; len(got) != turned || strings.Contains(told(*r), "that waited for unknown values were taken to end (--patience):") != (turned > 0) {
				t.Errorf("%s: patience %d: %v, %q", python, patience, got, told(*r))
			}
		}
	}
}

// decisionsOf are the decisions that a program marks with "# unknown:" and their words, and the line that has two.
func decisionsOf(t *testing.T, file string) (want map[string]int, twice string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want = map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		_, words, marked := strings.Cut(line, "# unknown: ")
		if !marked {
			continue
		}
		at := fmt.Sprintf("%s:%d", file, i+1)
		for _, word := range strings.Split(words, ", ") {
			if want[at+" "+word]++; want[at+" "+word] == 2 {
				twice = at
			}
		}
	}
	return want, twice
}

// The answer says that plans of cuDNN have no workspace without NVIDIA's library, and what to do.
func TestTorchWithoutCuDNN(t *testing.T) {
	for _, python := range pythons(t) {
		program := "import torch; torch.nn.Conv2d(3, 64, 3).cuda()(torch.randn(2, 3, 64, 64, device='cuda'))"
		r := runs(t, Options{Command: []string{python, "-c", program}, NoCuDNN: true}, 0)
		c := r.Processes[0].CuDNN
		if c.Asked != 1 || c.WithoutLibrary != 1 || !c.Off || !strings.HasPrefix(c.Wheel, "nvidia-cudnn-cu1") || !strings.Contains(c.Wheel, "==9.") {
			t.Errorf("%s: %+v", python, c)
		}
		if want := map[bool]string{true: "leave out --cudnn none", false: c.Wheel}[c.There]; !strings.Contains(told(*r), want) {
			t.Errorf("%s: %s has not %q", python, told(*r), want)
		}
		if hasCuDNN(python) != c.There {
			t.Errorf("%s: %+v", python, c)
		}
	}
}

// The peaks are those of the whole program, also if it resets PyTorch's statistics.
func TestTorchResets(t *testing.T) {
	for _, python := range pythons(t) {
		r := runs(t, Options{Command: []string{python, filepath.Join("testdata", "resets.py")}}, 0)
		_, device := r.Worst()
		if device == nil || device.PeakReserved != 300<<20 || device.PeakAllocated != 300<<20 || device.Allocations != 1 || device.OOMs != 1 {
			t.Errorf("%s: %+v", python, device)
		}
	}
}

// A program that records memory history from its begin, with call stacks, has them in its snapshots.
func TestTorchHistory(t *testing.T) {
	for _, python := range pythons(t) {
		program := `import torch
torch.cuda.memory._record_memory_history(max_entries=1000)
x = torch.empty(1 << 20, device="cuda")
entries = [e for trace in torch.cuda.memory._snapshot()["device_traces"] for e in trace]
assert len(entries) == 2 and all(e["frames"] for e in entries if e["action"] == "alloc"), entries`
		runs(t, Options{Command: []string{python, "-c", program}, NoValues: true, Decide: true}, 0)
	}
}

// Who watches the lines that call record_stream keeps nothing of the program alive.
func TestTorchLines(t *testing.T) {
	r := runs(t, Options{Command: []string{pythons(t)[0], filepath.Join("testdata", "lines.py")}, Streams: true, NoValues: true}, 0)
	if want := map[string]int{filepath.Join("testdata", "lines.py") + ":12": 1}; !maps.Equal(r.Processes[0].StreamsRecorded, want) {
		t.Errorf("%v, not %v", r.Processes[0].StreamsRecorded, want)
	}
}
