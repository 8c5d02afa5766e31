package cuda

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gaugeblock/internal/kept"
)

// Callers of the libraries above CUDA: every function that takes a pointer, with each of its pointers null in turn, and
// at random. NVIDIA's answer with an error if what they need is null; so must these.

var (
	thinFunction = regexp.MustCompile(`visibility\("default"\)\)\)\s+int\s+(\w+)\s*\(([^{;]*\*[^{;]*)\)\s*\{`)
	thinObject   = regexp.MustCompile(`^(?:const )?(struct \w+|Layout|Heuristic|void) \*$`)
	thinPlace    = regexp.MustCompile(`^(struct \w+|Layout|void) \*\*$`)
	thinMemory   = regexp.MustCompile(`^(from|to|buffer|ptr|space)$`)
	howMany      = regexp.MustCompile(`^(wanted|rank|ranks|ids|peer|root|count|batch|colour|key)$`)
	makes        = regexp.MustCompile(`[cC]reate|Init|Split|Shrink`)
	unmakes      = regexp.MustCompile(`[dD]estroy|Abort`)
)

// thinCall is the body of a function that calls one of a library.
func thinCall(library, name, parameters string) string {
	var kinds, values, arguments []string
	var before, after strings.Builder
	for i, p := range strings.Split(space.ReplaceAllString(parameters, " "), ",") {
		parts := declared.FindStringSubmatch(strings.TrimSpace(p))
		kind, value := drawnThin(library, strings.TrimSpace(parts[1]), parts[2])
		if pointed, isPlace := strings.CutPrefix(value, "place("); isPlace {
			if makes.MatchString(name) {
				fmt.Fprintf(&after, "if (r == 0) keep(%s, a%d); ", strings.TrimSuffix(pointed, ")"), i)
			} else if unmakes.MatchString(name) {
				fmt.Fprintf(&before, "if (a%d != NULL) forget(*a%[1]d); ", i)
			}
		} else if i == 0 && unmakes.MatchString(name) {
			before.WriteString("forget(a0); ")
		}
		kinds = append(kinds, kind)
		values = append(values, fmt.Sprintf("%s a%d = %s;", kind, i, value))
		arguments = append(arguments, fmt.Sprintf("a%d", i))
	}
	return fmt.Sprintf("int %s(%s);\nstatic int call_%s(void) { %s %sint r = %s(%s); %sreturn r; }\n", name, strings.Join(kinds, ", "),
		name, strings.Join(values, " "), &before, name, strings.Join(arguments, ", "), &after)
}

// drawnThin is a type by which a parameter is passed, and an expression of it.
func drawnThin(library, kind, name string) (passed, value string) {
	typed := func(found []string) string {
		return fmt.Sprintf("%q", library+" "+strings.TrimPrefix(found[1], "void"))
	}
	object, place := thinObject.FindStringSubmatch(kind), thinPlace.FindStringSubmatch(kind)
	switch {
	case kind == "Id":
		return "struct id", "id()"
	case kind == "void *" && name == "stream":
		return kind, "stream()"
	case place != nil:
		return "void **", "place(" + typed(place) + ")"
	case strings.HasSuffix(kind, "*") && thinMemory.MatchString(name) && library != "nvrtc":
		return "void *", "memory()"
	case object != nil:
		return "void *", "object(" + typed(object) + ")"
	case kind == "const char *":
		return "void *", "text()"
	case strings.HasSuffix(kind, "*"):
		return "void *", `object("")`
	case kind == "size_t" && (name == "count" || name == "bytes"):
		return kind, "bytes()"
	case howMany.MatchString(name):
		return kind, "count()"
	}
	return kind, "(" + kind + ")number()"
}

// thinProgramOfAll builds the program against the libraries of a folder.
func thinProgramOfAll(t *testing.T, compiler, dir string, options ...string) (program string) {
	t.Helper()
	from := t.TempDir()
	if err := unpack(from); err != nil {
		t.Fatal(err)
	}
	var functions, table strings.Builder
	program = filepath.Join(from, "anythin")
	source := program + ".c"
	build := []string{"-w", "-o", program, source, "-I" + filepath.Join(dir, "include"), "-L" + dir, "-lcudart", "-lcuda", "-Wl,--disable-new-dtags,-rpath," + dir}
	n := 0
	for _, f := range families {
		text, err := f.source(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		preprocess := exec.Command(compiler, "-E", "-P", "-DGAUGEBLOCK_CUDART=13", "-Iinclude", "-Ilib", "-Ithin", "-")
		preprocess.Dir, preprocess.Stdin = from, strings.NewReader(text)
		out, err := preprocess.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range thinFunction.FindAllStringSubmatch(string(out), -1) {
			functions.WriteString(thinCall(f.name, found[1], found[2]))
			fmt.Fprintf(&table, "\t{%q, call_%[1]s},\n", found[1])
			n++
		}
		build = append(build, filepath.Join(dir, f.sonames[len(f.sonames)-1].name))
	}
	if n < 300 {
		t.Fatalf("%d functions are called", n)
	}
	frame, err := os.ReadFile(filepath.Join("testdata", "anythin.c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(source, []byte(strings.NewReplacer("@FUNCTIONS@", functions.String(), "@TABLE@", table.String()).Replace(string(frame))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(exec.Command(compiler, append(build, options...)...)); err != nil {
		t.Fatal(err)
	}
	return program
}

// TestThinNull: what each function answers, and then with each of its pointers null, is what testdata/anythin.txt has.
// -rewrite-answers writes that.
func TestThinNull(t *testing.T) {
	compiler := callersCompiler(t)
	if err := BuildThin(scratch, nil); err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, thinProgramOfAll(t, compiler, scratch), nil)
	kept.Compare(t, "testdata/anythin.txt", out)
}

// TestAnyThinCalls calls them at random under the sanitizers: "make sanitize" asks for it.
func TestAnyThinCalls(t *testing.T) {
	if *thinCalls == 0 {
		t.Skip("no calls are asked for")
	}
	compiler := callersCompiler(t)
	options := sanitizers[1].options
	dir := buildSanitized(t, options)
	if err := BuildThin(dir, nil, options...); err != nil {
		t.Fatal(err)
	}
	program := thinProgramOfAll(t, compiler, dir, options...)
	for seed := range 10 {
		out, err := callAny(dir, program, fmt.Sprint(seed+1), fmt.Sprint(*thinCalls/10))
		if err != nil || !strings.Contains(out, "every call returned") {
			t.Errorf("seed %d: %v\n%s", seed+1, err, out[max(0, len(out)-5000):])
		}
	}
}
