package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestThreadsThatEnd: whoever has the number of a thread that has ended is another thread.
func TestThreadsThatEnd(t *testing.T) {
	g := New(Config{Hazards: true})
	s := newStream(t, g)
	must(t, g.Launch(spec.Launch{Stream: s}))
	before := g.Known()
	g.SetThread(1)
	g.SeeStream(logged(t, g, s))
	if before.CoversAll(g.Known()) {
		t.Fatal("the thread has seen nothing")
	}
	g.SetThread(0)
	g.EndThread(1)
	g.SetThread(1)
	if !before.CoversAll(g.Known()) {
		t.Error("a new thread has seen what an earlier one saw")
	}
}
