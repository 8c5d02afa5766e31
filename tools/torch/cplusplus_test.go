package torch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
	"gaugeblock/internal/allrows"
	"gaugeblock/internal/checkout"
	"gaugeblock/internal/race"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	binary "gaugeblock/tools/torch/binary"
)

// TestCplusplus: a program in C++ does what the same program does here, with the same addresses as
// far as can be compared.
func TestCplusplus(t *testing.T) {
	if race.Enabled {
		t.Skip("a program in C++, of which the race detector sees nothing")
	}
	o := built(t)
	open(t)
	kinds := map[trace.OpKind]bool{}
	const seed, length = 3, 600
	for i, name := range []string{"core", "streams", "limits", "capture", "checkpoint", "devices"} {
		if allrows.Without(i, 6) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h, ops := drawn(t, name, seed, length)
			for i := range ops {
				kinds[ops[i].Kind] = true
			}
			want := addresses(ops)
			if len(want) < length/20 {
				t.Fatalf("it has %d mallocs", len(want))
			}
			sameAddresses(t, want, printedAddresses(t, runCplusplus(t, o, &h, ops)))
		})
	}
	for _, a := range conformance.Areas() {
		for _, k := range a.Kinds {
			if allrows.Asked() && a.Name != "sharing" && !kinds[k.Kind] {
				t.Errorf("no program had a %s", k.Kind)
			}
		}
	}
}

// TestCplusplusHazard: a program in C++ says of hazards. In the second the allocator drops a
// use, for a block's address in the heap, which is another here.
func TestCplusplusHazard(t *testing.T) {
	if race.Enabled {
		t.Skip("a program in C++, of which the race detector sees nothing")
	}
	forReleases(t, "", "2.12") // 2.13 does not defer uses while requests are routed
	h := trace.Header{Format: trace.Format, Devices: 1, TotalMemory: spec.GiB, Streams: []spec.Stream{0, 0x100}, Waits: true}
	if out := runCplusplus(t, built(t), &h, forgottenUseProgram()); !strings.Contains(out, "hazard: unordered: kernel") {
		t.Errorf("it prints %q, no hazard", out)
	}
	dropped, ops, _, err := trace.ReadFile(filepath.Join("testdata", "dropped_use.jsonl"))
	must(t, err)
	if out := runCplusplus(t, built(t), &dropped, ops); !strings.Contains(out, "hazard: returned: kernel") {
		t.Errorf("it prints %q, no hazard", out)
	}
}

// drawn is a program in which nothing differs, with what PyTorch's allocator did.
func drawn(t *testing.T, name string, seed uint64, length int) (trace.Header, []trace.Op) {
	t.Helper()
	area := conformance.Find(name)
	source, h := area.NewSource(conformance.Seeded(seed), seed, new(Conditions).header)
	pair, err := NewPair(h, 1)
	must(t, err)
	avoider := newAvoider(h, seed)
	var ops []trace.Op
	for len(ops) < length {
		op := source.Next()
		if avoider.avoids(&op) {
			continue
		}
		did, difference := pair.Step(&op)
		if difference != nil {
			break
		}
		pair.record(&op)
		ops = append(ops, op)
		avoider.did(&op, did)
		source.Did(&op, did)
	}
	return h, ops
}

// at is the address that the malloc of an operation returned.
type at struct{ operation, address uint64 }

// addresses are those that PyTorch's allocator returned here.
func addresses(ops []trace.Op) (list []at) {
	for i := range ops {
		if p := ops[i].Expect.Addr; ops[i].Kind == trace.OpMalloc && p != nil && *p != 0 {
			list = append(list, at{uint64(i + 1), uint64(*p)})
		}
	}
	return list
}

// printedAddresses are those that a program in C++ prints.
func printedAddresses(t *testing.T, out string) (list []at) {
	t.Helper()
	for line := range strings.Lines(out) {
		if strings.Contains(line, " malloc: 0x") {
			var a at
			if _, err := fmt.Sscanf(line, "%d malloc: 0x%x", &a.operation, &a.address); err != nil {
				t.Fatal(err)
			}
			list = append(list, a)
		}
	}
	return list
}

// sameAddresses compares addresses of two devices that begin elsewhere: equal ones have to be
// equal there, and lie alike in a page of the driver.
func sameAddresses(t *testing.T, want, got []at) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d mallocs have succeeded, here %d", len(got), len(want))
	}
	there, here := map[uint64]uint64{}, map[uint64]uint64{}
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		if w.operation != g.operation {
			t.Fatalf("operation %d has returned memory, here %d", g.operation, w.operation)
		}
		if there[w.address] == 0 && here[g.address] == 0 {
			there[w.address], here[g.address] = g.address, w.address
		}
		if there[w.address] != g.address || here[g.address] != w.address || (w.address^g.address)%(2*spec.MiB) != 0 {
			t.Fatalf("operation %d has returned %#x, here %#x; that is %#x there", g.operation, g.address, w.address, there[w.address])
		}
	}
}

// runCplusplus compiles the program, runs it on the fake libraries, and returns what it prints.
func runCplusplus(t *testing.T, o binary.Options, h *trace.Header, ops []trace.Op) string {
	t.Helper()
	text, can := cplusplus(h, ops, "A program.")
	if !can {
		t.Fatal("it cannot be written in C++")
	}
	source := filepath.Join(t.TempDir(), "program.cc")
	must(t, os.WriteFile(source, []byte(text), 0o644))
	out, err := onFakeLibraries(t, o, compileCplusplus(t, o, source, "-include", headers(t, o)), variables(h))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// compileCplusplus compiles a program as the comment at its beginning says.
func compileCplusplus(t *testing.T, o binary.Options, source string, options ...string) (program string) {
	t.Helper()
	machine(t, o)
	program = filepath.Join(t.TempDir(), "program")
	args := append([]string{"-o", program, source}, options...)
	args = append(append(args, o.Link()...), filepath.Join(o.Work, "libcuda.so.1"))
	runCompiler(t, o, args...)
	return program
}

func runCompiler(t *testing.T, o binary.Options, args ...string) {
	t.Helper()
	compiler, err := cuda.Compiler("CXX", "c++", "g++", "clang++")
	must(t, err)
	args = append(append(args, o.Compile()...), "-Wall", "-Wextra", "-pthread")
	must(t, cuda.Run(exec.Command(compiler, args...)))
}

// headers is a file with the headers that every program of cplusplus includes, and beside it what
// the compiler has made of them: it would read them for a second, again for each program.
func headers(t *testing.T, o binary.Options) (file string) {
	t.Helper()
	file = filepath.Join(o.Work, "programs.h")
	if _, err := os.Stat(file + ".gch"); err == nil {
		return file
	}
	var text strings.Builder
	text.WriteString("#include \"release.h\"\n")
	for line := range strings.Lines(programParts) {
		if strings.HasPrefix(line, "#include") {
			text.WriteString(line)
		}
	}
	must(t, os.WriteFile(file, []byte(text.String()), 0o644))
	runCompiler(t, o, "-x", "c++-header", file, "-o", file+".gch")
	return file
}

// onFakeLibraries runs a program, and returns what it prints.
func onFakeLibraries(t *testing.T, o binary.Options, program string, variables []string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), append(variables, "LD_LIBRARY_PATH="+o.Work+":"+o.Libraries,
		"GAUGEBLOCK_CUDA_REPORT="+filepath.Join(t.TempDir(), "report"))...)
	out, err := c.CombinedOutput()
	var kept strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasSuffix(line, " is not supported\n") { // c10 asks for much that it does not need
			kept.WriteString(line)
		}
	}
	return kept.String(), err
}

// machine builds the fake GPU as a library, beside the others, for programs of their own.
func machine(t *testing.T, o binary.Options) {
	t.Helper()
	root, err := checkout.Root()
	must(t, err)
	must(t, buildMachine(root, o.Work))
}

var buildMachine = func() func(root, work string) error {
	var once sync.Once
	var err error
	return func(root, work string) error {
		once.Do(func() { err = cuda.BuildMachine(root, work) })
		return err
	}
}()
