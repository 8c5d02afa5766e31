package alloc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gaugeblock/spec"
)

// TestTallyEqualsStatArray does the same to a tally and to a spec.StatArray.
func TestTallyEqualsStatArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got tally
		var want spec.StatArray
		kinds := rapid.SampledFrom([]spec.PoolKind{spec.SmallPool, spec.LargePool})
		amounts := rapid.Int64Range(0, 1<<40)
		t.Repeat(map[string]func(*rapid.T){
			"increase": func(t *rapid.T) {
				kind, amount := kinds.Draw(t, "kind"), amounts.Draw(t, "amount")
				got.increase(kind, amount)
				want.Increase(kind, amount)
			},
			"decrease": func(t *rapid.T) {
				kind, amount := kinds.Draw(t, "kind"), amounts.Draw(t, "amount")
				got.decrease(kind, amount)
				want.Decrease(kind, amount)
			},
			"add": func(t *rapid.T) {
				kind, amount := kinds.Draw(t, "kind"), amounts.Draw(t, "amount")
				got.add(kind, amount)
				got.add(kind, -amount)
				want.Increase(kind, amount)
				want.Decrease(kind, amount)
			},
			"reset the peaks": func(t *rapid.T) {
				got.resetPeak()
				for i := range want {
					want[i].ResetPeak()
				}
			},
			"reset the sums": func(t *rapid.T) {
				got.resetAccumulated()
				for i := range want {
					want[i].ResetAccumulated()
				}
			},
			"": func(t *rapid.T) {
				if diff := cmp.Diff(want, got.stats()); diff != "" {
					t.Fatalf("-StatArray +tally:\n%s", diff)
				}
				if got.current() != want[spec.Aggregate].Current {
					t.Fatalf("current() = %d, want %d", got.current(), want[spec.Aggregate].Current)
				}
			},
		})
	})
}

// TestBlockStatsFill: each tally becomes the statistic of its name, and each is visited.
func TestBlockStatsFill(t *testing.T) {
	var s blockStats
	n := int64(0)
	s.each(func(t *tally) { n++; t.increase(spec.SmallPool, n) })
	var stats spec.DeviceStats
	s.fill(&stats)
	for name, got := range map[string][2]int64{
		"allocation":           {stats.Allocation[0].Current, 1},
		"allocated_bytes":      {stats.AllocatedBytes[0].Current, 2},
		"active":               {stats.Active[0].Current, 3},
		"active_bytes":         {stats.ActiveBytes[0].Current, 4},
		"requested_bytes":      {stats.RequestedBytes[0].Current, 5},
		"inactive_split":       {stats.InactiveSplit[0].Current, 6},
		"inactive_split_bytes": {stats.InactiveSplitBytes[0].Current, 7},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %d, want %d", name, got[0], got[1])
		}
	}
}
