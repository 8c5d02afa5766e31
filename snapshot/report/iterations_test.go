package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/internal/brief"
)

// TestGroupByIteration: the layouts of frameworks. The number of an iteration is no rank.
func TestGroupByIteration(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  map[string][]int
		order []string
	}{
		{ // torchtitan
			[]string{"iteration_23_exit/rank1_memory_snapshot.pickle", "iteration_10/rank0_memory_snapshot.pickle", "iteration_10/rank1_memory_snapshot.pickle", "iteration_9/rank0_memory_snapshot.pickle"},
			map[string][]int{"iteration 9": {3}, "iteration 10": {1, 2}, "iteration 23, exit": {0}},
			[]string{"iteration 9", "iteration 10", "iteration 23, exit"},
		},
		{ // the step behind the rank, and twice
			[]string{"memory_snapshot_rank0_step6.pkl", "memory_snapshot_rank1_step6.pkl", "step_12/rank0_step12.pkl"},
			map[string][]int{"step 6": {0, 1}, "step 12": {2}},
			[]string{"step 6", "step 12"},
		},
		{ // epochs of steps; a name without a number is apart
			[]string{"epoch1/step20.pickle", "epoch1/step5.pickle", "epoch2/step5.pickle", "last.pickle"},
			map[string][]int{"": {3}, "epoch 1 step 5": {1}, "epoch 1 step 20": {0}, "epoch 2 step 5": {2}},
			[]string{"", "epoch 1 step 5", "epoch 1 step 20", "epoch 2 step 5"},
		},
		{ // Megatron-Bridge and verl: ranks alone. "timestep" is no step
			[]string{"snapshot_rank-0.pickle", "snapshot_rank-1.pickle", "memory_snapshot_time1723.5_rank2.pickle", "timesteps4.pickle"},
			map[string][]int{"": {0, 1, 2, 3}},
			[]string{""},
		},
	} {
		got, order := map[string][]int{}, []string(nil)
		for _, g := range GroupByIteration(c.names) {
			got[g.Name] = g.Files
			order = append(order, g.Name)
		}
		if diff := cmp.Diff(c.want, got) + cmp.Diff(c.order, order); diff != "" {
			t.Errorf("%q: (-want +got):\n%s", c.names, diff)
		}
	}
}

// overIterations has ranks whose call sites hold so many MiB at the end of each snapshot.
func overIterations(t *testing.T, names []string, ends ...map[string]uint64) *Iterations {
	t.Helper()
	groups := GroupByIteration(names)
	builders := make([]*RankBuilder, len(groups))
	for i := range groups {
		builders[i] = &RankBuilder{}
		for _, k := range groups[i].Files {
			builders[i].Add(names[k], buildNamed(t, held(heldMiB(ends[k])), ""))
		}
	}
	return IterationsOf(groups, builders, len(groups)-1, nil)
}

func heldMiB(sites map[string]uint64) map[string]uint64 {
	all := map[string]uint64{}
	for name, mib := range sites {
		all[name] = mib << 20
	}
	return all
}

// TestGrowth: a call site that holds more at the end of each iteration is told with its slope,
// that of one rank; what comes and goes, and what was taken within an iteration, is not.
func TestGrowth(t *testing.T) {
	var names []string
	for _, n := range []int{10, 20, 40} {
		names = append(names, fmt.Sprintf("iteration_%d/rank0.pickle", n), fmt.Sprintf("iteration_%d/rank1.pickle", n))
	}
	names = append(names, "iteration_43_exit/rank0.pickle", "iteration_43_exit/rank1.pickle")
	other := map[string]uint64{"grown": 1}
	got := overIterations(t, names,
		map[string]uint64{"grown": 100, "a": 50, "b": 10}, other, map[string]uint64{"grown": 200, "a": 50, "b": 90}, other,
		map[string]uint64{"grown": 400, "a": 50, "b": 20, "new": 8}, other, map[string]uint64{"grown": 900, "b": 600}, other)
	if len(got.List) != 4 || got.Shown != 3 || got.Rank != "rank 0" || !strings.Contains(got.Verdict, "fastest call site by 10.00 MiB an iteration, from 100.00 MiB to 400.00 MiB") {
		t.Errorf("%+v", got)
	}
	if want := (brief.Lines{
		Happened: "Memory of rank 0 grows from iteration to iteration; no request failed in 4 iterations",
		Diff:     "train.py:10: 10.00 MiB more each iteration, from 100.00 MiB to 400.00 MiB",
		Try:      "find what keeps the memory of train.py:10 from one iteration to the next",
	}); got.Brief != want {
		t.Errorf("%q", got.Brief)
	}
	for i, want := range []struct {
		slope  float64
		steady bool
	}{{10 << 20, true}, {0.29 * (1 << 20), false}} {
		if g := got.Growth[i]; g.Steady != want.steady || g.Slope < 0.9*want.slope || g.Slope > 1.1*want.slope {
			t.Errorf("%d: %+v", i, g)
		}
	}
	if len(got.Growth) != 2 {
		t.Errorf("%d grow: %+v", len(got.Growth), got.Growth)
	}
	two := overIterations(t, []string{"step_1.pickle", "step_2.pickle"}, map[string]uint64{"a": 1}, map[string]uint64{"a": 2})
	if !strings.Contains(two.Verdict, "cannot be told from two snapshots") {
		t.Error(two.Verdict)
	}
	exits := overIterations(t, []string{"step_1.pickle", "step_2_exit.pickle"}, map[string]uint64{"a": 1}, map[string]uint64{"a": 2})
	if !strings.Contains(exits.Verdict, "cannot be told: fewer than two") || len(exits.Growth) != 0 {
		t.Error(exits.Verdict)
	}
	if one := overIterations(t, []string{"step_1/rank0.pickle"}, map[string]uint64{"a": 1}); one != nil {
		t.Errorf("%+v", one)
	}
}
