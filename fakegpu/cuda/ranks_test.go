package cuda

import (
	"os"
	"os/exec"
	"testing"
)

// Processes that use the fake NCCL exchange what is known and wait for each other: testdata/ranks.c.
func TestRanks(t *testing.T) {
	c := exec.Command(thinProgram(t, "ranks", "libnccl.so.2"))
	c.Env = append(os.Environ(), "GAUGEBLOCK_NCCL_FOLDER="+t.TempDir(), "GAUGEBLOCK_CUDA_DEVICES=3", "GAUGEBLOCK_CUDA_BYTES=none", "GAUGEBLOCK_CUDA_HAZARDS=off")
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// NCCL that finds no memory says so as on a GPU, by which PyTorch's error is one for want of memory, and tells python/site
// how much it asked for and what was free.
func TestNCCLWithoutMemory(t *testing.T) {
	out, _ := run(t, thinProgram(t, "nccl_memory", "libnccl.so.2"), nil, "GAUGEBLOCK_CUDA_MEMORY=4GiB", "GAUGEBLOCK_CUDA_DEVICES=2")
	const want = `before: 0 bytes lack, error ""
all but 100 MiB: 0
init: an error
after: a request of 504 MiB, with 55 MiB free, error "Cuda failure 2 'out of memory'"
`
	if out != want {
		t.Errorf("%s\nnot\n%s", out, want)
	}
}
