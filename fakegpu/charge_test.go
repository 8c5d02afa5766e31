package fakegpu_test

import (
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestCharge: memory takes of its device what the driver charges, and gives it back.
func TestCharge(t *testing.T) {
	g := fakegpu.New(fakegpu.Config{
		Devices: fakegpu.Devices(1, 10*spec.MiB),
		Charge:  func(bytes uint64) uint64 { return bytes + 3*spec.MiB },
	})
	free := func(want uint64) {
		t.Helper()
		if got, _, err := g.MemInfo(0); err != nil || got != want {
			t.Errorf("%d bytes are free (%v), not %d", got, err, want)
		}
	}
	a, err := g.Malloc(0, 2*spec.MiB)
	if err != nil {
		t.Fatal(err)
	}
	free(5 * spec.MiB)
	if _, err := g.Malloc(0, 3*spec.MiB); err == nil {
		t.Error("3 MiB are charged as 6, and 5 are free")
	}
	if _, err := g.CreatePage(0, 2*spec.MiB, spec.SharePOSIX); err != nil {
		t.Error(err)
	}
	free(0)
	if err := g.Free(0, a); err != nil {
		t.Error(err)
	}
	free(5 * spec.MiB)
}
