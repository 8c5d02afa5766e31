package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A family is one of the libraries above CUDA. Its files thin/NAME.c and thin/NAME_*.c, if there
// are any, have what is written by hand, and its list thin/names/NAME.txt, if there is one, what is
// made by rule: the names that some release of PyTorch from 2.9 on calls, or ONNX Runtime 1.31, or vLLM 0.22.
type family struct {
	name string
	// What it answers if a handle is NULL, or something else that it needs: CUBLAS_STATUS_NOT_INITIALIZED and
	// CUBLAS_STATUS_INVALID_VALUE, and the like of the others.
	noHandle, invalid int
	sonames           []soname
}

// soname is a name by which a family is loaded, and the version that its symbols have there.
type soname struct {
	cuda    int // the release of CUDA that it belongs to; 0: all
	name    string
	version string
}

// same is the usual case: the version is called as the library.
func same(cuda int, name string) soname { return soname{cuda, name, name} }

var families = []family{
	{"cublas", 1, 7, []soname{same(12, "libcublas.so.12"), same(13, "libcublas.so.13")}},
	{"cublasLt", 1, 7, []soname{same(12, "libcublasLt.so.12"), same(13, "libcublasLt.so.13")}},
	{"cudnn", 2000, 2000, []soname{same(0, "libcudnn.so.9")}},
	{"cufft", 1, 4, []soname{same(12, "libcufft.so.11"), same(13, "libcufft.so.12")}},
	{"cufile", 1, 1, []soname{{0, "libcufile.so.0", ""}}},
	{"cupti", 1, 1, []soname{same(12, "libcupti.so.12"), same(13, "libcupti.so.13")}},
	{"curand", 101, 101, []soname{same(0, "libcurand.so.10")}},
	{"cusolver", 1, 3, []soname{same(12, "libcusolver.so.11"), same(13, "libcusolver.so.12")}},
	{"cusparse", 1, 3, []soname{same(0, "libcusparse.so.12")}},
	{"cusparseLt", 1, 3, []soname{{0, "libcusparseLt.so.0", ""}}},
	{"nccl", 4, 4, []soname{{0, "libnccl.so.2", ""}}},
	{"nvrtc", 4, 3, []soname{same(12, "libnvrtc.so.12"), same(13, "libnvrtc.so.13")}},
	{"nvshmem", 1, 1, []soname{{0, "libnvshmem_host.so.3", "NVSHMEM"}}},
}

// Thin lists the names by which the libraries above CUDA are loaded.
func Thin() []string {
	var names []string
	for _, f := range families {
		for _, s := range f.sonames {
			names = append(names, s.name)
		}
	}
	return names
}

// BuildThin builds the libraries above CUDA in a directory where Build has built those of CUDA.
// More has further names of functions, by the library's name; they fail when they are called.
func BuildThin(dir string, more map[string][]string, options ...string) error {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	from, err := os.MkdirTemp("", "gaugeblock-thin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(from)
	if err := unpack(from); err != nil {
		return err
	}
	texts := Texts(sources, ".")
	var commands []*exec.Cmd
	for _, f := range families {
		for _, s := range f.sonames {
			text, err := f.source(from, more[s.name])
			if err != nil {
				return err
			}
			c, err := s.command(compiler, from, dir, text, options)
			if err != nil {
				return err
			}
			texts, commands = append(texts, text), append(commands, c)
		}
	}
	return Kept(dir, Thin(), texts, commands...)
}

// command compiles and links one library of its source, in the directory of the sources.
func (s soname) command(compiler, from, dir, text string, options []string) (*exec.Cmd, error) {
	if err := os.WriteFile(filepath.Join(from, s.name+".c"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	cuda := s.cuda
	if cuda == 0 {
		cuda = 13
	}
	args := []string{
		"-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", fmt.Sprintf("-DGAUGEBLOCK_CUDART=%d", cuda),
		"-Iinclude", "-Ilib", "-Ithin", "-o", filepath.Join(dir, s.name), "-Wl,-soname," + s.name, s.name + ".c",
		filepath.Join(dir, "libcuda.so.1"), "-Wl,--disable-new-dtags,-rpath,$ORIGIN",
	}
	if s.version != "" {
		if err := os.WriteFile(filepath.Join(from, s.name+".map"), []byte(s.version+" { global: *; };\n"), 0o644); err != nil {
			return nil, err
		}
		args = append(args, "-Wl,--version-script="+s.name+".map")
	}
	c := exec.Command(compiler, slices.Concat(args, options)...)
	c.Dir = from
	return c, nil
}

// source is the C of a library: what is written by hand, what is on its list, and the names that
// nobody knew of.
func (f *family) source(from string, more []string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "enum { NO_HANDLE = %d, INVALID = %d };\n#include \"thin.h\"\n", f.noHandle, f.invalid)
	var hand string
	files, err := filepath.Glob(filepath.Join(from, "thin", f.name+"*.c"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		if base := strings.TrimSuffix(filepath.Base(file), ".c"); base != f.name && !strings.HasPrefix(base, f.name+"_") {
			continue // another family's
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		hand += string(text)
	}
	table, err := f.measured(from)
	if err != nil {
		return "", err
	}
	b.WriteString(table + hand)
	list, err := os.ReadFile(filepath.Join(from, "thin", "names", f.name+".txt"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			return "", fmt.Errorf("names/%s.txt: %q has no name or says not what it is", f.name, line)
		}
		function, err := function(words[0], words[1], words[2:])
		if err != nil {
			return "", fmt.Errorf("names/%s.txt: %w", f.name, err)
		}
		b.WriteString(function)
		there[words[0]] = true
	}
	for _, name := range more {
		if !there[name] && !mentions(hand, name) {
			there[name] = true
			b.WriteString(lacking(name))
		}
	}
	return b.String(), nil
}

// measured is the C of what was measured for a family, thin/measured/NAME.txt: lines with a number of
// bytes behind what they are for, in order. A family without that file has none.
func (f *family) measured(from string) (string, error) {
	name := filepath.Join(from, "thin", "measured", f.name+".txt")
	list, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("struct measured { const char *key; long long bytes; };\nstatic const struct measured measured[] = {\n")
	last := ""
	for line := range strings.Lines(string(list)) {
		at := strings.LastIndex(line, " ")
		bytes, err := strconv.ParseUint(strings.TrimSpace(line[at+1:]), 10, 63)
		if at < 0 || err != nil || line[:at] <= last {
			return "", fmt.Errorf("measured/%s.txt: %q has no number of bytes, or is not in order", f.name, line)
		}
		last = line[:at]
		fmt.Fprintf(&b, "\t{%q, %d},\n", last, bytes)
	}
	return b.String() + "};\n", nil
}

// mentions reports whether a source has a name as a whole word followed by ( or , or ).
func mentions(source, name string) bool {
	for _, behind := range []string{"(", ",", ")"} {
		if strings.Contains(source, " "+name+behind) || strings.Contains(source, "*"+name+behind) || strings.Contains(source, "("+name+behind) {
			return true
		}
	}
	return false
}

func lacking(name string) string {
	return fmt.Sprintf("API %s(void) { return gaugeblock_lacks(\"%[1]s\"); }\n", name)
}

// function is the C of a function, by what it is:
//
//	ok          does nothing
//	makes       gives a new object in its first argument
//	unmakes     frees such an object
//	works       is work on the stream of the handle that is its first argument; behind it may be what
//	            it answers, as behind sets
//	sets N:T    answers 0 in its argument N, counted from 0 without floating-point numbers, a T *
//	lacks       fails when it is called
func function(name, kind string, arguments []string) (string, error) {
	switch kind {
	case "ok":
		return fmt.Sprintf("API %s(void) { return 0; }\n", name), nil
	case "makes":
		return fmt.Sprintf("API %s(void **made) { return make(made); }\n", name), nil
	case "unmakes":
		return fmt.Sprintf("API %s(void *made) { return unmake(made); }\n", name), nil
	case "works":
		if len(arguments) > 0 {
			return setter(name, arguments, fmt.Sprintf("work(a0, %q)", name))
		}
		return fmt.Sprintf("API %s(const struct handle *h) { return work(h, \"%[1]s\"); }\n", name), nil
	case "lacks":
		return lacking(name), nil
	case "sets":
		return setter(name, arguments, "0")
	}
	return "", fmt.Errorf("%s is %q, which is nothing known", name, kind)
}

// setter is a function that sets its arguments and returns a result.
func setter(name string, arguments []string, result string) (string, error) {
	var sets []string
	most := -1
	for _, a := range arguments {
		var at int
		var kind string
		if _, err := fmt.Sscanf(a, "%d:%s", &at, &kind); err != nil || at < 0 || at > 32 {
			return "", fmt.Errorf("%s sets %q", name, a)
		}
		most = max(most, at)
		sets = append(sets, fmt.Sprintf("if (a%d != NULL) { *(%s *)a%[1]d = 0; } ", at, kind))
	}
	var parameters, unused []string
	for i := range most + 1 {
		parameters = append(parameters, fmt.Sprintf("void *a%d", i))
		unused = append(unused, fmt.Sprintf("(void)a%d; ", i))
	}
	return fmt.Sprintf("API %s(%s) { %s%sreturn %s; }\n", name, strings.Join(parameters, ", "), strings.Join(unused, ""), strings.Join(sets, ""), result), nil
}
