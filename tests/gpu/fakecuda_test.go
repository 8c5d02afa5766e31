package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaugeblock/fakegpu/cuda"
	"gaugeblock/fakegpu/cuda/host"
)

// The libraries of the fake GPU (fakegpu/cuda) can stand in for the driver: this test binary
// then takes the fake machine for a real device, and all that is run on a real device is run
// on the libraries.

// librariesVariable names their directory.
const librariesVariable = "GAUGEBLOCK_FAKE_CUDA"

// loadFakeLibraries makes them this program's driver, if the variable is there.
func loadFakeLibraries() error {
	dir := os.Getenv(librariesVariable)
	if dir == "" {
		return nil
	}
	p, err := host.FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	host.Attach(p)
	return host.Load(dir)
}

// TestFakeLibraries runs this test binary again, on the libraries.
func TestFakeLibraries(t *testing.T) {
	if os.Getenv(librariesVariable) != "" {
		t.Skip("these are the libraries")
	}
	again := exec.Command(os.Args[0], "-test.v", "-test.skip", "^TestFakeLibraries$")
	if testing.Short() {
		again.Args = append(again.Args, "-test.run", "^(TestContract|TestGoroutines|TestClose|TestRefusals|TestStreamOf)$")
	}
	again.Env = append(os.Environ(), librariesVariable+"="+buildLibraries(t), "GAUGEBLOCK_CUDA_DEVICES=3",
		"GAUGEBLOCK_CUDA_MEMORY=16GiB", "GAUGEBLOCK_CUDA_HAZARDS=off",
		"GAUGEBLOCK_CUDA_MACHINE="+filepath.Join(t.TempDir(), "machine"))
	one := exec.Command(os.Args[0], "-test.v", "-test.run", "^TestStreamOf$")
	one.Env = append(slices.Clone(again.Env), "GAUGEBLOCK_CUDA_DEVICES=1", "GAUGEBLOCK_CUDA_MACHINE=")
	if out, err := one.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestStreamOf") {
		t.Errorf("one device: %v\n%s", err, out)
	}
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"capture", "memory", "streams", "virtual"} {
		if !strings.Contains(string(out), "--- PASS: TestContract/"+name+"/device") {
			t.Errorf("the conversations %s have not been held", name)
		}
	}
}

// buildLibraries builds them for the test, which is skipped where that is not possible.
func buildLibraries(t *testing.T) string {
	t.Helper()
	if !host.Available {
		t.Skip("the libraries cannot be loaded into a program without cgo")
	}
	if _, err := cuda.Compiler("CC", "cc", "gcc", "clang"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := cuda.Build(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}
