package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestLateMemory: the driver takes memory for a process at its first kernel and at its first product, each once, and no
// more than is free.
func TestLateMemory(t *testing.T) {
	const all, kernel, product, little = 1 << 30, 96 << 20, 66 << 20, 10 << 20
	g := New(Config{Devices: Devices(1, all)})
	g.SetLateMemory(0, kernel, product)
	launch := func(name string, want uint64) {
		t.Helper()
		if err := g.LaunchSized(spec.Launch{Name: name}, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		if free, total, err := g.MemInfo(0); free != want || total != all || err != nil {
			t.Errorf("after %s %d of %d bytes are free, not %d (%v)", name, free, total, want, err)
		}
	}
	launch(CopyOver, all)
	launch(CopyIn, all)
	launch(CopyOut, all)
	launch("a kernel", all-kernel)
	launch("another", all-kernel)
	launch("cublasSgemm_v2", all-kernel-product)
	launch("cublasSgemm_v2", all-kernel-product)
	g.SetLateMemory(0, kernel, product)
	g.SetFreeMemory(0, kernel+little)
	launch("cublasSgemm_v2", 0)
}
