package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackage: what the Python package asks of the command, and what it makes of the answers, without the command and
// without PyTorch.
func TestPackage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "gaugeblock"), os.DirFS(filepath.Join("..", "..", "python", "gaugeblock"))); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, filepath.Join("testdata", "package.py"), folder)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=")
	if said, err := c.CombinedOutput(); err != nil || !strings.HasSuffix(string(said), "all checked\n") {
		t.Errorf("%v\n%s", err, said)
	}
}
