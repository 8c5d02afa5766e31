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
		if got, err := w.linuxTag(); err != nil || got != want {
			t.Errorf("%s, %v, not %s", got, err, want)
		}
	}
	library := filepath.Join(t.TempDir(), "libown.so")
	if err := os.WriteFile(library, own, 0o644); err != nil {
		t.Fatal(err)
	}
	needs := object("extern int a; int b(void) { return a; }", library)
	if got, err := (wheel{"needs": {text: needs}}).linuxTag(); err == nil || !strings.Contains(err.Error(), "libown.so") {
		t.Errorf("a library that is not there: %s, %v", got, err)
	}
	if _, err := (wheel{"needs": {text: needs}, name: {text: own}}).linuxTag(); err != nil {
		t.Error(err)
	}
}

// The wheel for this system is installed by pip into a new environment, and then needs neither Go
// nor a compiler. What it says is in testdata/installed.py.
func TestWheel(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and the libraries of the fake GPU")
	}
	if _, err := cuda.Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder := t.TempDir()
	venv := filepath.Join(folder, "venv")
	if said, err := exec.Command(python, "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Skipf("there is no python3 with pip: %s", said)
	}
	t.Chdir(filepath.Join("..", ".."))
	if err := platforms[0].wheel(folder, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "gaugeblock-1.2.3-py3-none-manylinux_2_*_x86_64.whl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	run := func(want, program string, arguments ...string) {
		t.Helper()
		c := exec.Command(filepath.Join(venv, "bin", program), arguments...)
		c.Env = append(os.Environ(), "PATH="+filepath.Join(venv, "bin"), "PYTHONPATH=")
		if said, err := c.CombinedOutput(); err != nil || !strings.Contains(string(said), want) {
			t.Fatalf("%s %v: %v\n%s", program, arguments, err, said)
		}
	}
	run("Successfully installed gaugeblock-1.2.3", "pip", "install", "--no-index", "--disable-pip-version-check", found[0])
	run("gaugeblock 1.2.3,", "gaugeblock", "version")
	run("no process allocated GPU memory", "gaugeblock", "run", "--", "python", "-c", "pass")
	run("all checked", "python", "tools/release/testdata/installed.py", "snapshot/testdata/small.4.pickle", folder)
}

// What is no version by PEP 440 is refused.
func TestVersion(t *testing.T) {
	for text, is := range map[string]bool{"1": true, "1.2.0": true, "1.2rc1": true, "0.1.0+g12ab": true, "": false, "v1": false, "1.2-3": false, "../1": false, "1+": false} {
		if version.MatchString(text) != is {
			t.Errorf("%q: %v", text, !is)
		}
	}
}
