package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// In the layout of a conda environment, activated, a program has the peaks that it has with the same PyTorch in an
// environment of pip's, and NVIDIA's cuDNN is found where conda has it.
func TestTorchConda(t *testing.T) {
	python := pythons(t)[0]
	program := filepath.Join(t.TempDir(), "conv.py")
	write(t, filepath.Dir(program), "conv.py", `
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3), torch.nn.ReLU(), torch.nn.Conv2d(64, 64, 3), torch.nn.Flatten(), torch.nn.LazyLinear(10)).cuda()
for _ in range(2):
    model(torch.randn(64, 3, 32, 32, device="cuda")).square().mean().backward()
`)
	want, device := runs(t, Options{Command: []string{python, program}}, 0).Worst()
	if device == nil || device.PeakReserved == 0 {
		t.Fatalf("%+v", want)
	}
	prefix := filepath.Join(t.TempDir(), "env")
	if out, err := exec.Command(python, filepath.Join("testdata", "conda.py"), prefix).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Setenv("CONDA_PREFIX", prefix)
	t.Setenv("PATH", filepath.Join(prefix, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(prefix, "lib"))
	got, ofConda := runs(t, Options{Command: []string{"python", program}}, 0).Worst()
	if ofConda == nil || ofConda.PeakReserved != device.PeakReserved || ofConda.PeakAllocated != device.PeakAllocated {
		t.Errorf("%+v, and not %+v", ofConda, device)
	}
	if got.CuDNN.There != want.CuDNN.There || got.CuDNN.WithoutLibrary != want.CuDNN.WithoutLibrary {
		t.Errorf("cuDNN: %+v, and not %+v", got.CuDNN, want.CuDNN)
	}
}
