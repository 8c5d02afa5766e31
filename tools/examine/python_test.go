package examine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaugeblock/conformance"
)

// TestPython: a module in Python is examined as a library is, and a fault in it is found.
func TestPython(t *testing.T) {
	build(t)
	tool(t, "python3")
	for fault, broken := range map[string]string{"": "", "forgets_streams": "NoHazard"} {
		plant(t, "FAULT="+fault)
		module := filepath.Join("testdata", "drivers", "module.py")
		report, err := Search{Python: module, Level: conformance.Safe, Operations: 2000, Build: scratch}.Run()
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, report, strings.Fields(broken), 7)
		if !report.Returns || report.Contract.String() != "joined" {
			t.Errorf("%v", report)
		}
	}
}

// TestBadPython: what is no module, or has no functions, is said with what Python says.
func TestBadPython(t *testing.T) {
	build(t)
	tool(t, "python3")
	for text, want := range map[string]string{
		"import no_such_package": "No module named 'no_such_package'",
		"x = 1":                  "has no function malloc",
		"def":                    "invalid syntax",
		// what a runtime that is linked in statically asks for first; its package's own words fill the last lines
		"import ctypes, os, sys\nctypes.CDLL('libcuda.so.1').cuGetExportTable(None, None)\nsys.stderr.write('1\\n2\\n3\\n4\\n')\nsys.stderr.flush()\nos._exit(3)": "linked in statically",
	} {
		module := filepath.Join(t.TempDir(), "driver.py")
		if err := os.WriteFile(module, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Search{Python: module, Build: scratch}.Run()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPythonDrivers: the drivers of published packages, for those that are installed here.
func TestPythonDrivers(t *testing.T) {
	build(t)
	python := tool(t, "python3")
	for _, d := range []struct{ name, imports string }{{"numba_cuda.py", "numba.cuda"}, {"cuda_core.py", "cuda.core"}} {
		t.Run(d.name, func(t *testing.T) {
			if err := exec.Command(python, "-c", "import "+d.imports).Run(); err != nil {
				t.Skipf("there is no package %s here", d.imports)
			}
			module := filepath.Join("testdata", "drivers", d.name)
			report, err := Search{Python: module, Level: conformance.Safe, Operations: 600, Build: scratch}.Run()
			if err != nil {
				t.Fatal(err)
			}
			checkReport(t, report, nil, 0)
		})
	}
}
