package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
)

// Every name of the lists is in its library, once, under the version that programs ask for.
func TestThin(t *testing.T) {
	if _, err := Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	more := map[string][]string{"libcublas.so.13": {"cublasNewThing", "cublasCreate_v2", "cublasSgemm_v2"}}
	if err := BuildThin(scratch, more, "-Werror"); err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		list, err := os.ReadFile(filepath.Join("thin", "names", f.name+".txt"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(string(list)))
		if !slices.IsSorted(lines) {
			t.Errorf("names/%s.txt is not in order", f.name)
		}
		for _, s := range f.sonames {
			there := symbols(t, filepath.Join(scratch, s.name))
			for _, line := range lines {
				name, _, _ := strings.Cut(line, " ")
				if version, found := there[name]; !found || version != s.version {
					t.Errorf("%s has no %s of version %q", s.name, name, s.version)
				}
			}
			if _, found := there["cublasNewThing"]; found != (s.name == "libcublas.so.13") {
				t.Errorf("%s: the new name is there: %v", s.name, found)
			}
		}
	}
}

// symbols are the functions that a library offers, with their versions.
func symbols(t *testing.T, library string) map[string]string {
	t.Helper()
	out, err := exec.Command("nm", "-D", "--defined-only", library).Output()
	if err != nil {
		t.Skip("there is no nm")
	}
	there := map[string]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name, version, _ := strings.Cut(words[len(words)-1], "@@")
		there[name] = version
	}
	return there
}

func TestFunction(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"f sets 1:int", "API f(void *a0, void *a1) { (void)a0; (void)a1; if (a1 != NULL) { *(int *)a1 = 0; } return 0; }\n"},
		{"f works", "API f(const struct handle *h) { return work(h, \"f\"); }\n"},
	} {
		words := strings.Fields(c.line)
		if got, err := function(words[0], words[1], words[2:]); got != c.want || err != nil {
			t.Errorf("%s: %q, %v", c.line, got, err)
		}
	}
	for _, bad := range []string{"f is", "f sets x:int", "f sets 99:int"} {
		words := strings.Fields(bad)
		if got, err := function(words[0], words[1], words[2:]); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

// thinProgram builds testdata/NAME.c with the fake libraries and a thin one.
func thinProgram(t *testing.T, name, library string) string {
	t.Helper()
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	if err := BuildThin(scratch, nil); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command(compiler, "-o", program, filepath.Join("testdata", name+".c"), "-I"+filepath.Join(scratch, "include"),
		filepath.Join(scratch, library), "-L"+scratch, "-lcudart", "-lcuda", "-Wl,--disable-new-dtags,-rpath,"+scratch)
	if err := Run(build); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestThinAnswers: what the libraries above CUDA answer to what programs ask of them beside work, and how long work takes
// by the model of durations, is what testdata/thin_answers.txt has. -rewrite-answers writes that.
func TestThinAnswers(t *testing.T) {
	program := thinProgram(t, "thin_answers", "libnccl.so.2")
	out, _ := run(t, program, []string{scratch}, "GAUGEBLOCK_CUDA_DEVICES=2", "GAUGEBLOCK_CUDA_GPU=h200", "GAUGEBLOCK_CUDA_SCHEDULE=time", "GAUGEBLOCK_CUDNN_VERSION=91503")
	kept.Compare(t, "testdata/thin_answers.txt", out)
}
