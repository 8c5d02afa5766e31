package fakegpu_test

import (
	"bytes"
	"testing"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// TestRangesAreCopied: the ranges of a launch belong to the caller, who may use
// the slice for something else while the launch waits, or is a node of a graph.
func TestRangesAreCopied(t *testing.T) {
	g := fakegpu.New(fakegpu.Config{})
	p, _ := g.Malloc(0, 64)
	s, _ := g.CreateStream(0)
	ranges := make([]spec.Range, 1)
	launch := func() {
		ranges[0] = spec.Range{Ptr: p, Bytes: 8}
		if err := g.Launch(spec.Launch{Stream: s, Writes: ranges}); err != nil {
			t.Fatal(err)
		}
		ranges[0] = spec.Range{Ptr: p + 32, Bytes: 8}
	}
	if err := g.Busy(0, s); err != nil {
		t.Fatal(err)
	}
	launch()
	g.DrainAll()
	waited := read(t, g, p)

	if err := g.BeginCapture(0, s, spec.CaptureRelaxed); err != nil {
		t.Fatal(err)
	}
	launch()
	graph, err := g.EndCapture(0, s)
	if err != nil {
		t.Fatal(err)
	}
	exec, err := g.Instantiate(graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.LaunchGraph(exec, 0, s); err != nil {
		t.Fatal(err)
	}
	replayed := read(t, g, p)

	untouched := bytes.Repeat([]byte{0xa5}, 56)
	for name, data := range map[string][]byte{"waited": waited, "replayed": replayed} {
		if bytes.Equal(data[:8], untouched[:8]) || !bytes.Equal(data[8:], untouched) {
			t.Errorf("%s: the launch wrote elsewhere: % x", name, data)
		}
	}
	if bytes.Equal(waited, replayed) {
		t.Errorf("the graph wrote what the launch before it wrote")
	}
}

func read(t *testing.T, g *fakegpu.GPU, p spec.Ptr) []byte {
	t.Helper()
	data, err := g.ReadBack(0, 0, spec.Range{Ptr: p, Bytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
