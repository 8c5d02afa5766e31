package pluggable_test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShim: the program calls what PyTorch calls, and says what is wrong.
func TestShim(t *testing.T) {
	compiler, err := exec.LookPath("c++")
	if err != nil {
		t.Skip("there is no C++ compiler")
	}
	program := filepath.Join(t.TempDir(), "calls")
	if out, err := exec.Command(compiler, "-std=c++17", "-Wall", "-Wextra", "-o", program, "libgaugeblock/shim/torch.cc", "testdata/shim.cc").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command(program).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
