package fakegpu

import (
	"slices"
	"testing"

	"gaugeblock/spec"
)

// TestEmptyNode: an empty node is in the graph, and the stream's next node depends on it when the program says so. What
// would make a stream forget what it has captured is refused.
func TestEmptyNode(t *testing.T) {
	g := New(Config{})
	stream := newStream(t, g)
	must(t, g.BeginCapture(0, stream, spec.CaptureRelaxed))
	terminals := func() (spec.Graph, []spec.GraphNode) {
		info, err := g.CaptureStatus(0, stream)
		must(t, err)
		return info.Graph, info.Terminals
	}
	launch := func() { must(t, g.Launch(spec.Launch{Stream: stream, Name: "kernel"})) }
	launch()
	graph, before := terminals()
	empty, err := g.AddEmptyNode(graph, before)
	must(t, err)
	if kind, err := g.NodeType(empty); kind != 5 || err != nil {
		t.Errorf("its type is %d (%v)", kind, err)
	}
	if _, now := terminals(); !slices.Equal(now, before) {
		t.Errorf("the stream depends on %v before it was told to, not on %v", now, before)
	}
	must(t, g.DependOn(0, stream, []spec.GraphNode{empty}))
	launch()
	_, last := terminals()
	for node, want := range map[spec.GraphNode][]spec.GraphNode{last[0]: {empty}, empty: before} {
		if after, err := g.NodeDependencies(node); !slices.Equal(after, want) || err != nil {
			t.Errorf("node %#x depends on %v (%v), not on %v", uint64(node), after, err, want)
		}
	}
	if g.DependOn(0, stream, before) == nil {
		t.Error("the stream has forgotten what it has captured")
	}
	if g.DependOn(0, 0, nil) == nil {
		t.Error("a stream that is not captured has got dependencies")
	}
	if _, err := g.AddEmptyNode(graph, []spec.GraphNode{1}); err == nil {
		t.Error("a node depends on one that is not there")
	}
	ended, err := g.EndCapture(0, stream)
	must(t, err)
	if _, err := g.AddEmptyNode(ended, nil); err == nil {
		t.Error("a node was added when the capture was over")
	}
	if nodes, err := g.GraphNodes(ended); len(nodes) != 3 || err != nil {
		t.Errorf("the graph has %d nodes (%v), not 3", len(nodes), err)
	}
	exec, err := g.Instantiate(ended)
	must(t, err)
	must(t, g.LaunchGraph(exec, 0, stream))
}
