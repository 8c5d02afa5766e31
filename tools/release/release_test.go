package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
)

// The tag names the newest release of glibc of which a file needs a symbol, and a wheel that needs
// another library is none.
func TestTagIsHonest(t *testing.T) {
	compiler, err := cuda.Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	object := func(source string, options ...string) []byte {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "a.c"), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(compiler, append([]string{"-shared", "-fPIC", "-o", "a.so", "a.c"}, options...)...)
		c.Dir = folder
		if err := cuda.Run(c); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(folder, "a.so"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	calls := func(version string) string {
		return `__asm__(".symver f,quick_exit@GLIBC_` + version + `"); void f(int); void g(void) { f(0); }`
	}
	const name = "gaugeblock/bin/fake-cuda/libown.so"
	old, newer := object(calls("2.10")), object(calls("2.24"))
	own := object("int a;", "-Wl,-soname,libown.so")
	for want, w := range map[string]wheel{
		"manylinux_2_17_x86_64": {"old": {text: old}, "text": {text: []byte("GLIBC_2.99")}},
		"manylinux_2_24_x86_64": {"old": {text: old}, "newer": {text: newer}},
	} {
		for range 20 { // in any order
			if got, err := w.linuxTag(); err != nil || got != want {
				t.Fatalf("%s, %v, not %s", got, err, want)
			}
		}
	}
	library := filepath.Join(t.TempDir(), "libown.so")
	if err := os.WriteFile(library, own, 0o644); err != nil {
		t.Fatal(err)
	}
	needs := object("extern int a; int b(void) { return a; }", library)
	if got, err := (wheel{"needs": {text: needs}}).linuxTag(); err == nil || err.Error() != "needs: needs libown.so, which is neither in the wheel nor glibc's" {
		t.Errorf("a library that is not there: %s, %v", got, err)
	}
	if got, err := (wheel{"short": {text: needs[:40]}}).linuxTag(); err == nil || !strings.HasPrefix(err.Error(), "short: ") {
		t.Errorf("half a library: %s, %v", got, err)
	}
	if _, err := (wheel{"needs": {text: needs}, name: {text: own}}).linuxTag(); err != nil {
		t.Error(err)
	}
}

// What is no version by PEP 440 is refused.
func TestVersion(t *testing.T) {
	for text, is := range map[string]bool{"1": true, "1.2.0": true, "1.2rc1": true, "0.1.0+g12ab": true, "": false, "v1": false, "1.2-3": false, "../1": false, "1+": false} {
		if version.MatchString(text) != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
}
