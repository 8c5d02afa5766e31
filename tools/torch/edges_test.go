package torch

import (
	"slices"
	"strings"
	"testing"

	"gaugeblock/internal/allrows"
	"gaugeblock/internal/race"
	"gaugeblock/model/bounded"
	"gaugeblock/model/explore"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/tla"
	binary "gaugeblock/tools/torch/binary"
	"gaugeblock/tools/torch/edges"
	"gaugeblock/tools/torch/wheel"
)

// quickEdges are configurations that a test has time for.
var quickEdges = []string{"two_faults_oversize", "pools_tiny", "pools_forbidden", "faults_oversize", "faults_kinds", "checkpoint_faults", "checkpoint_oversize", "expandable_tiny", "three_streams", "two_step_tiny"}

// TestEveryEdge: every step of small configurations is taken by the reference, in both sizes, and
// by PyTorch's allocator, and what differs is in docs/deviations.md. "gaugeblock torch --edges" has
// all configurations.
func TestEveryEdge(t *testing.T) {
	o := built(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, c := range list {
		if !slices.Contains(quickEdges, c.Name) {
			continue
		}
		tested++
		if allrows.Without(tested, 3) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if why := (EdgeRun{PyTorch: o}).LeavesOut(c); why != "" {
				t.Skip(why)
			}
			r, err := EdgeRun{PyTorch: o}.Run(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d edges in %d walks, %d operations, %v", r.Edges, r.Walks, r.Operations, r.Listed)
			if r.Taken != r.Edges {
				t.Errorf("%d of %d edges are taken: %v", r.Taken, r.Edges, r.NotTaken)
			}
			for _, f := range r.Unexplained {
				t.Errorf("%s after\n%s", f.What, strings.Join(f.Labels, "\n"))
			}
		})
	}
	if tested != len(quickEdges) {
		t.Errorf("%d of %d configurations are there", tested, len(quickEdges))
	}
}

// TestEdgesOfRelease: the same with the rules and the library of a release that breaks ties by segment,
// and takes only a marked capture for one.
func TestEdgesOfRelease(t *testing.T) {
	if race.Enabled {
		t.Skip("builds the adaptor, and the race detector sees nothing of it")
	}
	dir, err := wheel.Find("2.15")
	if err != nil {
		t.Skip(err)
	}
	o, err := binary.Find(dir, t.TempDir())
	must(t, err)
	o.Work = scratch + "/torch-edges-2.15"
	must(t, binary.Build(o))
	list, err := EdgeConfigurations()
	must(t, err)
	chosen, unknown := tla.Named(list, []string{"ties", "pools_tiny", "two_faults_oversize", "expandable_tiny", "pools_forbidden", "recorded_own", "garbage_streams"})
	if unknown != "" {
		t.Fatal(unknown)
	}
	for _, c := range list {
		if left := (EdgeRun{PyTorch: o}).LeavesOut(c) != ""; left != (c.Name == "oversize_forbidden") {
			t.Errorf("that %s is left out is %v", c.Name, left)
		}
	}
	for _, c := range chosen {
		r, err := EdgeRun{PyTorch: o}.Run(c)
		must(t, err)
		if r.Taken != r.Edges || len(r.Unexplained) > 0 {
			t.Errorf("%s: %d of %d edges are taken, unexplained: %v", c.Name, r.Taken, r.Edges, r.Unexplained)
		}
		t.Logf("%s: %d states, %d edges", c.Name, r.States, r.Edges)
	}
}

// TestWalkEndsAtOtherError: where a scale is not exact, a pool can still wait to be freed when the
// specification begins it anew. Both allocators refuse that, and the walk ends there. PyTorch has
// counted a use of the pool by then, so that a later EmptyCache would fail.
func TestWalkEndsAtOtherError(t *testing.T) {
	w, err := startWorker(built(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	}()
	pool := spec.PoolID{Capture: 1}
	begin := trace.Op{Kind: trace.OpPoolBegin, Pool: pool, By: "stream"}
	end := trace.Op{Kind: trace.OpPoolEnd, Pool: pool}
	release := trace.Op{Kind: trace.OpPoolRelease, Pool: pool}
	j := job{Scale: "pools_expandable", Conditions: Conditions{Every: 20}, Ops: []trace.Op{
		begin, {Kind: trace.OpMalloc, Size: 1 << 20}, end, release,
		begin, end, release, {Kind: trace.OpEmptyCache},
	}}
	j.Header = trace.Header{Devices: 1, TotalMemory: 35 << 20, Settings: "expandable_segments:True", Streams: []spec.Stream{0}, Geometry: spec.DefaultGeometry()}
	j.Layouts = make([]uint64, len(j.Ops))
	reply, crash, err := w.do(&j)
	if crash != nil || err != nil || len(reply.Outcomes) > 0 || reply.Otherwise != 5 {
		t.Errorf("crash %v, error %v, differences %v, ends at operation %d, not 5", crash, err, reply.Outcomes, reply.Otherwise)
	}
}

// TestScales: each configuration whose steps can be taken has a scale, and no scale is of any
// other.
func TestScales(t *testing.T) {
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if edges.Find(c.Name) == nil {
			t.Errorf("%s has no scale in tools/torch/edges/scales.go, and no reason not to have one", c.Name)
		}
	}
}

// TestWrongScale: a scale that is not exact is noticed, whatever the two allocators do alike.
func TestWrongScale(t *testing.T) {
	forReleases(t, "2.11", "") // which know large_segment_size_mb
	o := built(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(c tla.Configuration) bool { return c.Name == "core_tiny" })
	// Two large requests do not fill a segment any more: the second leaves 2 MiB.
	scale := *edges.Find("core_tiny")
	scale.Requests = []edges.Size{{Units: 1, Bytes: 1 << 20}, {Units: 2, Bytes: 7 << 20}}
	const enough = 3000 // edges
	taken := 0
	r, err := EdgeRun{
		PyTorch: o, scale: &scale, Length: 50, Progress: func(n int) { taken = n }, Stopped: func() bool { return taken > enough },
	}.Run(list[at])
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unexplained) == 0 {
		t.Error("nothing was noticed")
	}
}

// TestRestoreOfMappedRange: PyTorch does not restore a segment that is mapped up to the end of its
// range of addresses. On the scale of this configuration the device grants more memory than it says
// it has; the segment has two pages, and so has its range.
func TestRestoreOfMappedRange(t *testing.T) {
	forReleases(t, "2.10", "") // until 2.9 a process is granted no more than the device says that it has
	for _, test := range []struct{ labels, what string }{
		{"BeginAllocateToPool(1,1) Malloc(1,2) EndAllocateToPool(1) Checkpoint(1) Free(0) SetCheckpointPoolState(1)", ""},
		{
			"BeginAllocateToPool(1,1) Malloc(1,2) Malloc(1,2) EndAllocateToPool(1) Checkpoint(1) Free(0) SetCheckpointPoolState(1)",
			rowMappedRange,
		},
	} {
		reply := performLabels(t, "checkpoint_pages", strings.Fields(test.labels))
		row := ""
		for _, o := range reply.Outcomes {
			row += o.Row
			if o.Difference.ours.Err != nil {
				t.Errorf("the reference does not restore it: %v", o.Difference.ours.Err)
			}
		}
		if row != test.what {
			t.Errorf("%s\nends with the row %q, not with %q", test.labels, row, test.what)
		}
	}
}

// TestQuestionFails: the driver cannot say whether a stream is captured. PyTorch's malloc fails as
// the reference's does, and serves the next request; but PyTorch does not ask before it unmaps
// pages.
func TestQuestionFails(t *testing.T) {
	for _, test := range []struct{ configuration, labels, row string }{
		{"capture_faults", "BeginAllocateToPool(1,1) FailedMalloc(1,1,1) Malloc(1,1)", ""},
		{"faults_pages_streams", "Malloc(1,3) Free(0) FailedEmptyCache(1)", rowUnasked},
	} {
		reply := performLabels(t, test.configuration, strings.Fields(test.labels))
		row := ""
		for _, o := range reply.Outcomes {
			row += o.Row
		}
		if row != test.row || reply.Otherwise != 0 || reply.Error != "" {
			t.Errorf("%s\nends with the row %q, not with %q: %+v", test.labels, row, test.row, reply)
		}
	}
}

// performLabels performs a walk through the states of a configuration, in this process.
func performLabels(t *testing.T, name string, labels []string) reply {
	open(t)
	list, err := EdgeConfigurations()
	if err != nil {
		t.Fatal(err)
	}
	r := &edgeRun{EdgeRun: EdgeRun{PyTorch: built(t), Workers: 1, Every: 1, scale: edges.Find(name)}}
	if err := r.open(list[slices.IndexFunc(list, func(c tla.Configuration) bool { return c.Name == name })]); err != nil {
		t.Fatal(err)
	}
	graph := explore.Explore(r.module, explore.Options[*bounded.State]{Edges: true}).Graph
	var steps []edges.Step
	at := 0
	for _, label := range labels {
		from := graph.From(at)
		i := slices.IndexFunc(from, func(e explore.Edge) bool { return r.labels[e.Label] == label })
		if i < 0 {
			t.Fatalf("there is no step %s", label)
		}
		steps = append(steps, edges.Step{From: at, To: int(from[i].To), Label: from[i].Label, New: true})
		at = int(from[i].To)
	}
	walk, err := r.write(steps)
	if err != nil {
		t.Fatal(err)
	}
	return walk.job.follow(&place{new([3]uint64)})
}
