package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
)

// A venv is a new environment of Python.
type venv struct {
	python string // that of which the environment is
	folder string
}

func newVenv(t *testing.T, python string) venv {
	t.Helper()
	v := venv{python, filepath.Join(t.TempDir(), "venv")}
	if said, err := exec.Command(python, "-m", "venv", v.folder).CombinedOutput(); err != nil {
		t.Skipf("there is no python3 with pip: %s", said)
	}
	return v
}

// buildWheel builds the wheel for this system. The test goes on in the folder of the sources.
func buildWheel(t *testing.T) string {
	t.Helper()
	if _, err := cuda.Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
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
	return found[0]
}

// install installs a wheel with pip, and with nothing else.
func (v venv) install(t *testing.T, wheel string) {
	t.Helper()
	v.says(t, 0, "Successfully installed gaugeblock-1.2.3", "pip", "install", "--no-index", "--disable-pip-version-check", wheel)
}

// says runs a program of the environment, or of the system by its path. It must end with a status and say something.
func (v venv) says(t *testing.T, status int, want, program string, arguments ...string) {
	t.Helper()
	if !filepath.IsAbs(program) {
		program = filepath.Join(v.folder, "bin", program)
	}
	c := exec.Command(program, arguments...)
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
	v := newVenv(t, python)
	v.install(t, buildWheel(t))
	v.says(t, 0, "gaugeblock 1.2.3,", "gaugeblock", "version")
	v.says(t, 0, "no process allocated GPU memory", "gaugeblock", "run", "--", "python", "-c", "pass")
	v.says(t, 0, "all checked", "python", "tools/release/testdata/installed.py", "snapshot/testdata/small.4.pickle", t.TempDir())
}

// What the README of the Python package promises to people who have PyTorch: the wheel in an
// environment of its own, which sees the PyTorch of another one.
func TestWheelWithTorch(t *testing.T) {
	v := newVenv(t, pythonWithTorch(t))
	v.install(t, buildWheel(t))
	v.borrow(t)
	asStranger(t)
	run := []string{"run", "--gpu", "4090"}
	with := func(flags ...string) []string {
		return append(append(run[:len(run):len(run)], flags...), "--", "python", "train.py")
	}
	v.says(t, 0, "gaugeblock: it did not run out of memory", "gaugeblock", with("--json", "memory.json", "--sites", "--report", "page.html", "--snapshot", "s.pickle")...)
	v.says(t, 0, "Exact: the whole record is reproduced", "gaugeblock", "whatif", "s.pickle")
	v.says(t, 0, "again.html", "gaugeblock", "report", "s.pickle", "-o", "again.html")
	v.says(t, 0, "(+0.0 %)", "gaugeblock", with("--compare", "memory.json", "--max-growth", "5")...)
	v.says(t, 0, "largest BATCH that fits: 6", "gaugeblock", "fit", "--var", "BATCH=5..8", "--memory", "1088MiB", "--", "python", "train.py")
	v.says(t, 0, "all checked", "python", "uses.py")
	t.Setenv("BATCH", "16")
	v.says(t, 1, "train.py:12 holds", "gaugeblock", with("--compare", "memory.json", "--max-growth", "5")...)
}

func pythonWithTorch(t *testing.T) string {
	t.Helper()
	const variable = "GAUGEBLOCK_TORCH_PYTHON" // as in tools/run
	pythons := filepath.SplitList(os.Getenv(variable))
	if len(pythons) == 0 {
		t.Skipf("%s names no Python with PyTorch", variable)
	}
	return pythons[0]
}

// asStranger goes to a folder with the program of somebody else. It is the package's README.
func asStranger(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("python", "gaugeblock", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := filepath.Abs(filepath.Join("tools", "release", "testdata", "stranger"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", os.DirFS(stranger)); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documented is what an expression finds in a README, once in each match.
func documented(t *testing.T, text, expression string) (all []string) {
	t.Helper()
	for _, found := range regexp.MustCompile(expression).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	if len(all) == 0 {
		t.Fatalf("the README has nothing like %s", expression)
	}
	return all
}

func edit(t *testing.T, path, old, now string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q (%v)", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), old, now)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The workflow of the README, line by line as a runner of GitHub runs it, in a repository whose memory.json the README's
// command has made: it passes, and fails when the model has grown; both times there is the page that it keeps. The test
// of the README passes with pytest, and fails with a smaller limit. Only the name of the wheel is another one, and
// PyTorch is not installed by pip: requirements.txt is empty.
func TestWorkflow(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	v := newVenv(t, pythonWithTorch(t))
	wheel := buildWheel(t)
	v.borrow(t)
	readme := asStranger(t)
	if err := os.WriteFile("requirements.txt", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PIP_NO_INDEX", "1")
	steps := documented(t, readme, `(?m)^      - run: (.*)$`)
	page := documented(t, readme, `path: ([\w.]+)`)[0]
	step := func(status int, want, line string) {
		t.Helper()
		v.says(t, status, want, bash, "-e", "-c", strings.ReplaceAll(line, "gaugeblock-VERSION-py3-none-PLATFORM.whl", wheel))
	}
	if len(steps) != 2 {
		t.Fatalf("%d steps", len(steps))
	}
	step(0, "Successfully installed gaugeblock-1.2.3", steps[0])
	step(0, "gaugeblock: peak reserved", documented(t, readme, "(?s)```sh\n(.*?)```")[0])
	keeps := func() {
		t.Helper()
		if text, err := os.ReadFile(page); err != nil || len(text) < 10_000 {
			t.Fatalf("the page has %d bytes (%v)", len(text), err)
		}
		_ = os.Remove(page)
	}
	step(0, "(+0.0 %)", steps[1])
	keeps()
	edit(t, "train.py", `"BATCH", 8`, `"BATCH", 16`)
	step(1, "train.py:12 holds", steps[1])
	keeps()

	if exec.Command(v.python, "-c", "import pytest").Run() != nil {
		t.Skip("pytest is not installed")
	}
	test := documented(t, readme, "(?s)```python\n(def test_.*?)```")[0]
	if err := os.WriteFile("test_readme.py", []byte("import gaugeblock\nfrom train import train\n\n\n"+test), 0o644); err != nil {
		t.Fatal(err)
	}
	pytest := []string{"-m", "pytest", "-q", "--gaugeblock-gpu", "4090", "--gaugeblock-pages", "pages", "test_readme.py"}
	v.says(t, 0, "1 passed", "python", pytest...)
	edit(t, "test_readme.py", "20 * gaugeblock.GiB", "0.1 * gaugeblock.GiB")
	v.says(t, 1, "1 failed", "python", pytest...)
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
