package fakegpu

import (
	"testing"

	"gaugeblock/spec"
)

// TestWaitStreamOfCaptures: streams of which one is being captured are not made to wait.
func TestWaitStreamOfCaptures(t *testing.T) {
	g := New(Config{})
	captured, other := newStream(t, g), newStream(t, g)
	must(t, g.BeginCapture(0, captured, spec.CaptureRelaxed))
	for _, pair := range [][2]spec.Stream{{captured, other}, {other, captured}} {
		if done, err := g.WaitStream(logged(t, g, pair[0]), logged(t, g, pair[1])); done || err != nil {
			t.Errorf("%v waits for %v: %v, %v", pair[0], pair[1], done, err)
		}
	}
	if _, err := g.LoggedStream(0, 99); err == nil {
		t.Error("a stream that is not there is found")
	}
	first, second := logged(t, g, other), logged(t, g, newStream(t, g))
	must(t, g.DestroyStream(0, other))
	if _, err := g.WaitStream(first, second); err == nil {
		t.Error("a stream that was destroyed waits")
	}
	must(t, g.AddStream(0, other))
	if done, err := g.WaitStream(first, second); !done || err != nil {
		t.Errorf("the next stream with the handle waits: %v, %v", done, err)
	}
}

// TestUnknownGraphInCapture: a graph that is not there is refused, and the capture goes on.
func TestUnknownGraphInCapture(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
	if err := g.LaunchGraph(99, 0, s); err == nil {
		t.Error("a graph that is not there was launched")
	}
	if _, err := g.EndCapture(0, s); err != nil {
		t.Errorf("the capture: %v", err)
	}
}
