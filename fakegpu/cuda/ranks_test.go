package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Processes that use the fake NCCL exchange what is known and wait for each other: testdata/ranks.c.
func TestRanks(t *testing.T) {
	compiler, err := Compiler("CC", "cc", "gcc", "clang")
	if err != nil {
		t.Skip(err)
	}
	if err := built(); err != nil {
		t.Fatal(err)
	}
	if err := BuildThin(scratch, nil); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "ranks")
	build := exec.Command(compiler, "-o", program, filepath.Join("testdata", "ranks.c"), "-I"+filepath.Join(scratch, "include"),
		filepath.Join(scratch, "libnccl.so.2"), "-L"+scratch, "-lcudart", "-lcuda", "-Wl,--disable-new-dtags,-rpath,"+scratch)
	if err := Run(build); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program)
	c.Env = append(os.Environ(), "GAUGEBLOCK_NCCL_FOLDER="+t.TempDir(), "GAUGEBLOCK_CUDA_DEVICES=3", "GAUGEBLOCK_CUDA_BYTES=none", "GAUGEBLOCK_CUDA_HAZARDS=off")
	if said, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}
