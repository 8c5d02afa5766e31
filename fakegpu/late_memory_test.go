package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestLateMemory: the driver takes memory for a process at its first kernel, and at the first work of each library and of
// its second handle, each once, and no more than is free.
func TestLateMemory(t *testing.T) {
	const all = 1 << 30
	late := LateMemory{Kernel: 96 << 20, Product: 66 << 20, Plan: 10 << 20, SecondProduct: 64 << 20, SecondPlan: 8 << 20}
	g := New(Config{Devices: Devices(1, all)})
	g.SetLateMemory(0, late)
	free := uint64(all)
	launch := func(name string, takes uint64) {
		t.Helper()
		if err := g.LaunchSized(spec.Launch{Name: name}, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		free -= takes
		if got, total, err := g.MemInfo(0); got != free || total != all || err != nil {
			t.Errorf("after %s %d of %d bytes are free, not %d (%v)", name, got, total, free, err)
		}
	}
	const product, plan = "cublasSgemm_v2", "cudnnBackendExecute"
	for _, copied := range []string{CopyOver, CopyIn, CopyOut} {
		launch(copied, 0)
	}
	launch("a kernel", late.Kernel)
	launch("another", 0)
	g.MakeHandle(0, CuBLAS)
	launch(product, late.Product)
	launch(product, 0)
	g.MakeHandle(0, CuDNN)
	g.MakeHandle(0, CuBLAS)
	launch(plan, late.Plan)
	launch(product, late.SecondProduct)
	g.MakeHandle(0, CuDNN)
	launch("a kernel", 0)
	launch(plan, late.SecondPlan)
	g.MakeHandle(0, CuDNN)
	g.MakeHandle(0, CuBLAS)
	launch(plan, 0)
	launch(product, 0)

	g.SetLateMemory(0, late)
	g.SecondHandleIsCounted(0)
	g.MakeHandle(0, CuBLAS)
	g.MakeHandle(0, CuBLAS)
	launch(product, late.Kernel+late.Product)

	g.SetLateMemory(0, late)
	g.SetFreeMemory(0, late.Kernel+1)
	free = late.Kernel + 1
	launch(product, free)
}
