package alloc

import (
	"slices"
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
				got.add(kind, amount)
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

// TestBlockStatsEqualStatArrays does the same to blockStats and to a spec.StatArray for each
// statistic: blocks are allocated, freed at once, or pending between.
func TestBlockStatsEqualStatArrays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type counted struct {
			kind            spec.PoolKind
			size, requested int64
		}
		var s blockStats
		var want spec.DeviceStats
		var allocated, pending []counted
		take := func(from *[]counted) counted {
			i := rapid.IntRange(0, len(*from)-1).Draw(t, "which")
			c := (*from)[i]
			*from = slices.Delete(*from, i, i+1)
			return c
		}
		requestFree := func(c counted) {
			s.requestFree(c.kind, c.size)
			want.Allocation.Decrease(c.kind, 1)
			want.AllocatedBytes.Decrease(c.kind, c.size)
		}
		completeFree := func(c counted) {
			s.completeFree(c.kind, c.requested)
			want.Active.Decrease(c.kind, 1)
			want.ActiveBytes.Decrease(c.kind, c.size)
			want.RequestedBytes.Decrease(c.kind, c.requested)
		}
		t.Repeat(map[string]func(*rapid.T){
			"allocate": func(t *rapid.T) {
				c := counted{spec.PoolKind(rapid.IntRange(0, 1).Draw(t, "kind")), rapid.Int64Range(1, 100).Draw(t, "size"), rapid.Int64Range(1, 100).Draw(t, "requested")}
				splitBytes := rapid.Int64Range(-100, 100).Draw(t, "split bytes")
				splitBlocks := int64(0)
				if splitBytes != 0 {
					splitBlocks = rapid.Int64Range(-1, 1).Draw(t, "split blocks")
				}
				s.allocate(c.kind, c.size, c.requested, splitBlocks, splitBytes)
				change(&want.InactiveSplit, c.kind, splitBlocks)
				change(&want.InactiveSplitBytes, c.kind, splitBytes)
				want.Allocation.Increase(c.kind, 1)
				want.AllocatedBytes.Increase(c.kind, c.size)
				want.Active.Increase(c.kind, 1)
				want.ActiveBytes.Increase(c.kind, c.size)
				want.RequestedBytes.Increase(c.kind, c.requested)
				allocated = append(allocated, c)
			},
			"free": func(t *rapid.T) {
				if len(allocated) > 0 {
					c := take(&allocated)
					requestFree(c)
					completeFree(c)
				}
			},
			"make pending": func(t *rapid.T) {
				if len(allocated) > 0 {
					c := take(&allocated)
					requestFree(c)
					s.changePending(c.kind, 1, c.size)
					pending = append(pending, c)
				}
			},
			"complete": func(t *rapid.T) {
				if len(pending) > 0 {
					c := take(&pending)
					s.changePending(c.kind, -1, c.size)
					completeFree(c)
				}
			},
			"change inactive_split": func(t *rapid.T) {
				kind := spec.PoolKind(rapid.IntRange(0, 1).Draw(t, "kind"))
				count, bytes := rapid.Int64Range(-2, 1).Draw(t, "count"), rapid.Int64Range(-100, 100).Draw(t, "bytes")
				s.inactiveSplit.add(kind, count)
				s.inactiveSplitBytes.add(kind, bytes)
				change(&want.InactiveSplit, kind, count)
				change(&want.InactiveSplitBytes, kind, bytes)
			},
			"reset the peaks": func(t *rapid.T) {
				s.resetPeak()
				want.ResetPeak()
			},
			"reset the sums": func(t *rapid.T) {
				s.resetAccumulated()
				want.ResetAccumulated()
			},
			"": func(t *rapid.T) {
				var got spec.DeviceStats
				s.fill(&got)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("-StatArrays +blockStats:\n%s", diff)
				}
			},
		})
	})
}

// change changes a statistic by an amount of either sign.
func change(a *spec.StatArray, kind spec.PoolKind, amount int64) {
	if amount > 0 {
		a.Increase(kind, amount)
	} else {
		a.Decrease(kind, -amount)
	}
}
