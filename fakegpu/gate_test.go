package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestOpenGate: of three pieces of work in a stream each completes when its own gate
// is opened, oldest first, and an event is complete with the piece before it.
func TestOpenGate(t *testing.T) {
	g := New(Config{})
	const stream spec.Stream = 7
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(g.AddStream(0, stream))
	var events []spec.EventHandle
	for range 3 {
		must(g.Busy(0, stream))
		e, err := g.CreateEvent(0)
		must(err)
		must(g.RecordEvent(e, 0, stream))
		events = append(events, e)
	}
	for opened := 0; ; opened++ {
		if got, want := g.Gates(0, stream), len(events)-opened; got != want {
			t.Errorf("%d gates opened, %d are closed, want %d", opened, got, want)
		}
		for i, e := range events {
			complete, err := g.QueryEvent(e)
			must(err)
			if complete != (i < opened) {
				t.Errorf("%d gates opened: event %d complete: %v", opened, i, complete)
			}
		}
		if !g.OpenGate(0, stream) {
			break
		}
	}
	if !g.Idle(0, stream) {
		t.Error("all gates are open, and the stream is not idle")
	}
}
