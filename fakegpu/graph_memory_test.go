package fakegpu

import (
	"errors"
	"testing"

	"gaugeblock/spec"
)

// TestMemoryOfGraphs: nodes have their types, and memory that a launch has allocated is freed once.
func TestMemoryOfGraphs(t *testing.T) {
	g := New(Config{})
	s := newStream(t, g)
	must(t, g.BeginCapture(0, s, spec.CaptureRelaxed))
	kept, err := g.MallocInCapture(0, s, 512)
	must(t, err)
	freed, err := g.MallocInCapture(0, s, 512)
	must(t, err)
	must(t, g.Fill(0, s, spec.Range{Ptr: kept, Bytes: 8}, 1))
	must(t, g.Launch(spec.Launch{Stream: s}))
	must(t, g.HostFunction(0, s, func() {}))
	must(t, g.FreeInCapture(0, s, freed))
	graph, err := g.EndCapture(0, s)
	must(t, err)
	nodes, err := g.GraphNodes(graph)
	must(t, err)
	var types []int
	for _, n := range nodes {
		kind, err := g.NodeType(n)
		must(t, err)
		types = append(types, kind)
	}
	if want := []int{10, 10, 2, 0, 3, 11}; len(types) != 6 || [6]int(types) != [6]int(want) {
		t.Errorf("the nodes have the types %v, want %v", types, want)
	}
	if _, err := g.NodeType(99); err == nil {
		t.Error("a node that is not there has a type")
	}
	failure := errors.New("failure")
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(kept); !found || !errors.Is(err, failure) {
		t.Errorf("a call that fails, before a launch: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err == nil || errors.Is(err, failure) {
		t.Errorf("before a launch: %v, %v", found, err)
	}
	exec, err := g.Instantiate(graph)
	must(t, err)
	must(t, g.LaunchGraph(exec, 0, s))
	if used, reserved := g.GraphMemory(0); used == 0 || used >= reserved {
		t.Errorf("%d of %d bytes are used", used, reserved)
	}
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(kept); !found || !errors.Is(err, failure) {
		t.Errorf("a call that fails: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err != nil {
		t.Errorf("after a launch: %v, %v", found, err)
	}
	if found, err := g.FreeOfGraph(kept); !found || err == nil {
		t.Errorf("again: %v, %v", found, err)
	}
	other, err := g.Malloc(0, 512)
	must(t, err)
	must(t, g.FailCall("Free", 1, failure))
	if found, err := g.FreeOfGraph(other); found || err != nil {
		t.Errorf("other memory: %v, %v", found, err)
	}
	if err := g.Free(0, other); !errors.Is(err, failure) {
		t.Errorf("to ask whose the memory is was a call of the driver: the next one gives %v", err)
	}

	// What a launch has allocated stays until it is freed, whatever becomes of the graph.
	must(t, g.LaunchGraph(exec, 0, s))
	must(t, errors.Join(g.DestroyGraphExec(exec), g.DestroyGraph(graph)))
	if used, reserved := g.GraphMemory(0); used != 512 || reserved != 512 {
		t.Errorf("%d of %d bytes are used when the graph is gone", used, reserved)
	}
	if found, err := g.FreeOfGraph(kept); !found || err != nil {
		t.Errorf("when the graph is gone: %v, %v", found, err)
	}
	if used, reserved := g.GraphMemory(0); used != 0 || reserved != 0 || g.IsOfGraph(kept) {
		t.Errorf("%d of %d bytes are used when the memory is freed as well", used, reserved)
	}
	again := newStream(t, g)
	must(t, g.BeginCapture(0, again, spec.CaptureRelaxed))
	must(t, g.Launch(spec.Launch{Stream: again}))
	status, err := g.CaptureStatus(0, again)
	must(t, err)
	_, err = g.NodeType(status.Terminals[0])
	must(t, err)
	g.Exit()
	if _, err := g.NodeType(status.Terminals[0]); err == nil {
		t.Error("a node of a process that has ended has a type")
	}
}
