package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
)

// A venv is an environment of Python into which pip has installed the wheel for this system.
type venv struct {
	python string // that of which the environment is
	folder string
}

// install builds the wheel and installs it with pip, and with nothing else, into a new environment.
func install(t *testing.T, python string) venv {
	t.Helper()
	if _, err := cuda.Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	v := venv{python, filepath.Join(t.TempDir(), "venv")}
	if said, err := exec.Command(python, "-m", "venv", v.folder).CombinedOutput(); err != nil {
		t.Skipf("there is no python3 with pip: %s", said)
	}
	wheels := t.TempDir()
	t.Chdir(filepath.Join("..", ".."))
	if err := platforms[0].wheel(wheels, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(wheels, "gaugeblock-1.2.3-py3-none-manylinux_2_*_x86_64.whl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	v.says(t, 0, "Successfully installed gaugeblock-1.2.3", "pip", "install", "--no-index", "--disable-pip-version-check", found[0])
	return v
}

// says runs a program of the environment, which must end with a status and say something.
func (v venv) says(t *testing.T, status int, want, program string, arguments ...string) {
	t.Helper()
	c := exec.Command(filepath.Join(v.folder, "bin", program), arguments...)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(v.folder, "bin"), "PYTHONPATH=", "GAUGEBLOCK_LIBRARIES=")
	said, err := c.CombinedOutput()
	var ended *exec.ExitError
	if got := c.ProcessState.ExitCode(); err != nil && !errors.As(err, &ended) || got != status || !strings.Contains(string(said), want) {
		t.Fatalf("%s %v: status %d, not %d, or it does not say %q (%v)\n%s", program, arguments, got, status, want, err, said)
	}
}

// The wheel needs neither Go nor a compiler. What its package says is in testdata/installed.py.
func TestWheel(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command and the libraries of the fake GPU")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	v := install(t, python)
	v.says(t, 0, "gaugeblock 1.2.3,", "gaugeblock", "version")
	v.says(t, 0, "no process allocated GPU memory", "gaugeblock", "run", "--", "python", "-c", "pass")
	v.says(t, 0, "all checked", "python", "tools/release/testdata/installed.py", "snapshot/testdata/small.4.pickle", t.TempDir())
}

// What the README of the Python package promises to people who have PyTorch: the wheel in an
// environment of its own, which sees the PyTorch of another one.
func TestWheelWithTorch(t *testing.T) {
	const variable = "GAUGEBLOCK_TORCH_PYTHON" // as in tools/run
	pythons := filepath.SplitList(os.Getenv(variable))
	if len(pythons) == 0 {
		t.Skipf("%s names no Python with PyTorch", variable)
	}
	v := install(t, pythons[0])
	v.borrow(t)
	stranger, err := filepath.Abs(filepath.Join("tools", "release", "testdata", "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", os.DirFS(stranger)); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--gpu", "4090"}
	with := func(flags ...string) []string {
		return append(append(run[:len(run):len(run)], flags...), "--", "python", "train.py")
	}
	v.says(t, 0, "gaugeblock: it did not run out of memory", "gaugeblock", with("--json", "memory.json", "--sites", "--report", "page.html", "--snapshot", "s.pickle")...)
	v.says(t, 0, "Exact: the whole record is reproduced", "gaugeblock", "whatif", "s.pickle")
	v.says(t, 0, "again.html", "gaugeblock", "report", "s.pickle", "-o", "again.html")
	v.says(t, 0, "(+0.0 %)", "gaugeblock", with("--compare", "memory.json", "--max-growth", "5")...)
	v.says(t, 0, "largest BATCH that fits: 6", "gaugeblock", "fit", "--var", "BATCH=5..8", "--memory", "1GiB", "--", "python", "train.py")
	v.says(t, 0, "all checked", "python", "uses.py")
	t.Setenv("BATCH", "16")
	v.says(t, 1, "train.py:12 holds", "gaugeblock", with("--compare", "memory.json", "--max-growth", "5")...)
}

// borrow lets programs of the environment import what is installed beside its Python.
func (v venv) borrow(t *testing.T) {
	t.Helper()
	const site = "import site, sys; print(next(p for p in sys.path if p.endswith('site-packages')))"
	var folders [2]string
	for i, python := range []string{v.python, filepath.Join(v.folder, "bin", "python")} {
		said, err := exec.Command(python, "-c", site).Output()
		if err != nil {
			t.Fatal(err)
		}
		folders[i] = strings.TrimSpace(string(said))
	}
	if err := os.WriteFile(filepath.Join(folders[1], "borrowed.pth"), []byte(folders[0]+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
