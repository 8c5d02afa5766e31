package fakegpu_test

import (
	"testing"

	"gaugeblock/fakegpu"
)

// TestDrainOfAHandle: a stream that was destroyed while it was held goes on when the handle
// is drained that it had, also if that is another stream's by then.
func TestDrainOfAHandle(t *testing.T) {
	g := fakegpu.New(fakegpu.Config{Waits: fakegpu.WaitsDrain, FreeWaits: true})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(g.AddStream(0, 7))
	check(g.Busy(0, 7))
	check(g.DestroyStream(0, 7))
	check(g.AddStream(0, 7))
	check(g.Drain(0, 7))
	if !g.Idle(0, 7) {
		t.Error("the destroyed stream has not gone on")
	}
	check(g.SynchronizeDevice(0))
}
