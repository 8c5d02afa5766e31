package examine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
	"gaugeblock/fakegpu/cuda"
)

func TestParseContract(t *testing.T) {
	for _, test := range []struct {
		text    string
		records bool
		want    string // the contract in words, or a part of the error
	}{
		{"", false, "joined"},
		{"", true, "record_stream"},
		{"joined", true, "joined"},
		{"free_stream, threads,destroys_streams", false, "free_stream,threads,destroys_streams"},
		{"limited zero_bytes aborts any_device align=16", false, "joined,limited,zero_bytes,aborts,any_device,align=16"},
		{"anywhere,warm,idle_sleep", false, "joined,anywhere,idle_sleep,warm"},
		{"record_stream", false, "record_stream needs a function of that name"},
		{"joined,free_stream", false, "it is either joined or free_stream"},
		{"align=3", false, "align=3 is not a power of two"},
		{"jointed", false, `the word "jointed" is not known; known are record_stream, joined,`},
	} {
		c, err := ParseContract(test.text, test.records)
		got := c.String()
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
}

func TestFindPair(t *testing.T) {
	for _, test := range []struct{ exported, want string }{
		{"my_free my_malloc", "my_malloc my_free"},
		{"cuda_alloc cuda_dealloc helper", "cuda_alloc cuda_dealloc"},
		{"allocate deallocate", "allocate deallocate"},
		{"alloc_plug free_plug", "alloc_plug free_plug"},
		{"a_free a_malloc b_alloc b_free", "exports several pairs of functions, say which: --alloc a_malloc --free a_free, or --alloc b_alloc --free b_free"},
		{"main reallocate", "exports no pair of functions such as my_malloc and my_free: name them by --alloc and --free; it exports main, reallocate"},
		{"", "it exports nothing"},
	} {
		malloc, free, err := findPair("lib.so", strings.Fields(test.exported))
		got := malloc + " " + free
		if err != nil {
			got = err.Error()
		}
		if got != test.want && (err == nil || !strings.Contains(got, test.want)) {
			t.Errorf("%q: %s, want %s", test.exported, got, test.want)
		}
	}
}

// TestHooks: hooks are found by the pair's names.
func TestHooks(t *testing.T) {
	f := Functions{Malloc: "my_malloc", Free: "my_free"}
	f.findHooks([]string{"empty_cache", "gaugeblock_contract", "init", "my_init", "my_record_stream", "other_reset", "reset"})
	want := Functions{Malloc: "my_malloc", Free: "my_free", RecordStream: "my_record_stream", Init: "my_init", Reset: "empty_cache", Contract: "gaugeblock_contract"}
	if f != want {
		t.Errorf("%+v, want %+v", f, want)
	}
	plain := Functions{Malloc: "alloc", Free: "free"}
	plain.findHooks([]string{"end", "init", "reset", "resize", "sleep"}) // which may be anything
	if plain != (Functions{Malloc: "alloc", Free: "free"}) {
		t.Errorf("%+v", plain)
	}
}

// TestBadLibraries: what cannot be examined, and why.
func TestBadLibraries(t *testing.T) {
	library, mangled := compile(t, "naive.cc"), withCplusplusNames(t, "naive.cc")
	otherwise := filepath.Join(t.TempDir(), "libnaive")
	if err := os.Symlink(library, otherwise); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		search  Search
		problem string
	}{
		{Search{Library: "nowhere.so"}, "no such file"},
		{Search{Library: "words_test.go"}, "words_test.go is no shared library"},
		{Search{Library: library, Malloc: "my_malloc"}, "--alloc and --free are given together"},
		{Search{Library: library, Malloc: "your_malloc", Free: "my_free"}, "exports no function your_malloc; it exports my_empty_cache, my_free, my_malloc"},
		{Search{Library: library, Contract: "record_stream"}, "record_stream needs a function"},
		{Search{Library: mangled}, `it exports nothing; my_free, my_malloc have C++'s names: declare the two functions extern "C"`},
		{Search{Library: mangled, Malloc: "my_malloc", Free: "my_free"}, `exports no function my_malloc; it exports nothing; my_free, my_malloc have C++'s names`},
		{Search{Command: []string{filepath.Join("testdata", "libraries", "naive.cc")}}, "naive.cc -I$FAKE/include -L$FAKE -lcudart -o libnaive.so\" and examine ./libnaive.so"},
		{Search{Command: []string{"nowhere.cc"}}, "no such file"},
		{Search{Command: []string{filepath.Join("testdata", "libraries", "naive.rs")}}, "rustc --crate-type cdylib"},
		{Search{Command: []string{filepath.Join("testdata", "drivers", "module.py")}}, "is examined by \"--python"},
		{Search{Command: []string{"README.md"}}, "neither a shared library"},
		{Search{Command: []string{otherwise}}, "is a shared library, whose name has to end in .so"},
	} {
		test.search.Build, test.search.Level = scratch, conformance.Safe
		if _, err := test.search.Run(); err == nil || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%+v: %v, want %s", test.search, err, test.problem)
		}
	}
}

// withCplusplusNames builds a library of testdata/libraries whose functions are not extern "C".
func withCplusplusNames(t *testing.T, source string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "libraries", source))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	library, changed := filepath.Join(dir, "lib.so"), filepath.Join(dir, source)
	if err := os.WriteFile(changed, []byte(strings.ReplaceAll(string(text), `extern "C" `, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := cuda.Run(exec.Command(build(t), "-shared", "-fPIC", "-o", library, changed, "-I"+filepath.Join(scratch, "include"), "-L"+scratch, "-lcudart")); err != nil {
		t.Fatal(err)
	}
	return library
}
