package cuda

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaugeblock/internal/cache"
)

// CUDA's own headers, of two versions, are asked whether what this project declares is what they
// declare. They are fetched by pip, into a cache, and no part of them is here.

// cudaHeaders are the packages that have a version's headers. crt/host_defines.h is in a package of
// its own, and alike in both.
var cudaHeaders = map[string][]string{
	"12": {"nvidia-cuda-runtime-cu12==12.9.79", "nvidia-cuda-crt==13.0.88"},
	"13": {"nvidia-cuda-runtime==13.0.96", "nvidia-cuda-crt==13.0.88"},
}

// changedIn13 are what CUDA 12 does not have, or declares otherwise than 13, whose form
// is declared here.
var changedIn13 = map[string]bool{
	"cudaStreamGetCaptureInfo": true, "cudaMemPrefetchAsync": true, "cudaMemAdvise": true,
	"cudaMemGetDefaultMemPool": true, "cudaMemGetMemPool": true, "struct cudaDeviceProp": true,
	"struct cudaPointerAttributes": true, "cudaMemAllocationTypeManaged": true, "CU_MEM_ALLOCATION_TYPE_MANAGED": true,
	"cuCtxCreate": true, "cuEventElapsedTime": true, "cuMemPrefetchAsync": true,
}

func TestHeaders(t *testing.T) {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	ours := declarations(t, compiler)
	for version, packages := range cudaHeaders {
		t.Run(version, func(t *testing.T) {
			include := fetchHeaders(t, packages)
			var b strings.Builder
			b.WriteString("#include <stddef.h>\n#include <cuda.h>\n#include <cuda_runtime_api.h>\n")
			asked := 0
			for _, d := range ours {
				if version == "12" && changedIn13[d.name] {
					continue
				}
				fmt.Fprintf(&b, "#line 1 \"%s\"\n%s\n", strings.ReplaceAll(d.name, " ", "_"), d.text)
				asked++
			}
			source := filepath.Join(t.TempDir(), "asks.c")
			if err := os.WriteFile(source, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := Run(exec.Command(compiler, "-std=c11", "-fsyntax-only", "-I"+include, source)); err != nil {
				t.Error(err)
			}
			if asked < 300 {
				t.Errorf("only %d declarations were compared", asked)
			}
		})
	}
}

// The table of entry points has every function of the driver that the typedefs of CUDA's headers have,
// with its versions, and libcuda.so.1 has every one of them.
func TestNames(t *testing.T) {
	if _, err := Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	const newest = 13000
	since := map[string][]int{}
	typedef := regexp.MustCompile(`\(CUDAAPI \*PFN_(cu[A-Z]\w*?)_v(\d+)(?:_ptsz|_ptds)?\)`)
	for _, packages := range cudaHeaders {
		text, err := os.ReadFile(filepath.Join(fetchHeaders(t, packages), "cudaTypedefs.h"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range typedef.FindAllStringSubmatch(string(text), -1) {
			if version, _ := strconv.Atoi(m[2]); version <= newest && !slices.Contains(since[m[1]], version) {
				since[m[1]] = append(since[m[1]], version)
			}
		}
	}
	var want strings.Builder
	there := symbols(t, filepath.Join(scratch, "libcuda.so.1"))
	for _, name := range slices.Sorted(maps.Keys(since)) {
		slices.Sort(since[name])
		fmt.Fprintf(&want, "V%d(%s", len(since[name]), name)
		for i, version := range since[name] {
			fmt.Fprintf(&want, ", %d", version)
			form := name
			if i > 0 {
				form += fmt.Sprintf("_v%d", i+1)
			}
			if _, found := there[form]; !found {
				t.Errorf("libcuda.so.1 has no %s", form)
			}
		}
		want.WriteString(")\n")
	}
	have, err := sources.ReadFile("lib/names_driver.h")
	if err != nil {
		t.Fatal(err)
	}
	if _, rows, _ := strings.Cut(string(have), "has them.\n"); rows != want.String() {
		t.Errorf("lib/names_driver.h is not what the headers have:\n%s", want.String())
	}
}

// declaration is a statement in C that is accepted behind headers with which it agrees.
type declaration struct{ name, text string }

var (
	prototypes = regexp.MustCompile(`(?m)^(?:cudaError_t|CUresult|const char \*) ?(cu\w+)\([^;]*\);`)
	constants  = regexp.MustCompile(`\b((?:cuda|CU_|CUDA_)\w+) = \d+`)
	structures = regexp.MustCompile(`(?ms)^(?:typedef )?struct (\w+) \{\n(.*?)^\}`)
	fields     = regexp.MustCompile(`(?m)^\t(?:struct \{.*\}|[^;]*?)\s*\b(\w+)(?:\[\d+\])?;`)
)

// declarations are those of the project's headers. Sizes and offsets of structures, and the numbers
// of constants, are what a compiler makes of these.
func declarations(t *testing.T, compiler string) (all []declaration) {
	t.Helper()
	var text string
	for _, name := range []string{"gaugeblock_cuda_virtual.h", "gaugeblock_cuda.h"} {
		content, err := sources.ReadFile("include/" + name)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	text, _, _ = strings.Cut(text, "// What the fake GPU has beside CUDA. All of it")
	driver, err := sources.ReadFile("include/gaugeblock_cuda_driver.h")
	if err != nil {
		t.Fatal(err)
	}
	text += string(driver)
	optional := regexp.MustCompile(` GAUGEBLOCK_OR_NULL`)
	for _, m := range prototypes.FindAllStringSubmatch(text, -1) {
		all = append(all, declaration{m[1], optional.ReplaceAllString(m[0], "")})
	}
	var ask strings.Builder
	ask.WriteString("#include \"cuda.h\"\n#include <stdio.h>\nint main(void) {\n")
	for _, m := range constants.FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&ask, "printf(\"%s\\t_Static_assert(%[1]s == %%lld, \\\"\\\");\\n\", (long long)%[1]s);\n", m[1])
	}
	for _, m := range structures.FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&ask, "printf(\"struct %s\\t_Static_assert(sizeof(struct %[1]s) == %%zu, \\\"\\\");\\n\", sizeof(struct %[1]s));\n", m[1])
		for _, f := range fields.FindAllStringSubmatch(m[2], -1) {
			if f[1] != "rest" {
				fmt.Fprintf(&ask, "printf(\"struct %s\\t_Static_assert(offsetof(struct %[1]s, %[2]s) == %%zu, \\\"\\\");\\n\", offsetof(struct %[1]s, %[2]s));\n", m[1], f[1])
			}
		}
	}
	ask.WriteString("return 0;\n}\n")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "tells.c"), filepath.Join(dir, "tells")
	if err := os.WriteFile(source, []byte(ask.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Run(exec.Command(compiler, "-std=gnu11", "-Iinclude", source, "-o", program)); err != nil {
		t.Fatal(err)
	}
	told, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(told)) {
		name, assertion, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, declaration{name, assertion})
	}
	return all
}

// fetchHeaders gives the folder with the headers of packages.
func fetchHeaders(t *testing.T, packages []string) (include string) {
	t.Helper()
	in, err := cache.Folder()
	if err != nil {
		t.Skip("there is no folder to keep CUDA's headers in")
	}
	include = filepath.Join(in, "cuda-headers-"+strings.Join(packages, "-"))
	if _, err := os.Stat(filepath.Join(include, "crt", "host_defines.h")); err == nil {
		return include
	}
	dir := t.TempDir()
	args := append([]string{"-m", "pip", "download", "--quiet", "--no-deps", "--dest", dir}, packages...)
	if out, err := exec.Command("python3", args...).CombinedOutput(); err != nil {
		t.Skipf("pip does not fetch CUDA's headers: %v %s", err, out)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != len(packages) {
		t.Fatal(wheels, err)
	}
	for _, w := range wheels {
		if err := unpackHeaders(w, include); err != nil {
			t.Fatal(err)
		}
	}
	return include
}

// unpackHeaders writes what is in a folder include of a wheel to a directory.
func unpackHeaders(wheel, to string) error {
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, f := range archive.File {
		_, name, is := strings.Cut(f.Name, "/include/")
		if !is || !filepath.IsLocal(name) || filepath.Ext(name) != ".h" {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		path := filepath.Join(to, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
