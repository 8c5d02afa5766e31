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
