package happensbefore_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"gaugeblock/spec/happensbefore"
)

// TestClock holds clocks, which share memory, to maps that do not, with more lanes than
// the arrays of a clock have places.
func TestClock(t *testing.T) {
	const clocks, lanes = 4, 700
	rapid.Check(t, func(t *rapid.T) {
		var clock [clocks]happensbefore.Clock
		var model [clocks]map[int]happensbefore.Position
		for i := range model {
			model[i] = map[int]happensbefore.Position{}
		}
		one := rapid.IntRange(0, clocks-1)
		lane := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, lanes))
		t.Repeat(map[string]func(*rapid.T){
			"raise": func(t *rapid.T) {
				c, e := one.Draw(t, "clock"), happensbefore.Epoch{Lane: lane.Draw(t, "lane"), Position: happensbefore.Position(rapid.IntRange(1, 9).Draw(t, "position"))}
				clock[c].Raise(e)
				model[c][e.Lane] = max(model[c][e.Lane], e.Position)
			},
			"tick": func(t *rapid.T) {
				c, l := one.Draw(t, "clock"), lane.Draw(t, "lane")
				model[c][l]++
				if e := clock[c].Tick(l); e.Lane != l || e.Position != model[c][l] {
					t.Fatalf("the tick of lane %d is %v, want %d", l, e, model[c][l])
				}
			},
			"join": func(t *rapid.T) {
				c, other := one.Draw(t, "clock"), one.Draw(t, "other")
				clock[c].Join(clock[other])
				for l, p := range model[other] {
					model[c][l] = max(model[c][l], p)
				}
			},
			"set": func(t *rapid.T) {
				c, other := one.Draw(t, "clock"), one.Draw(t, "other")
				clock[c].Set(clock[other])
				model[c] = maps.Clone(model[other])
			},
			"": func(t *rapid.T) {
				for c := range clock {
					each := map[int]happensbefore.Position{}
					for e := range clock[c].Each() {
						if each[e.Lane] != 0 || e.Position == 0 {
							t.Fatalf("%v is visited again, or nothing", e)
						}
						each[e.Lane] = e.Position
					}
					for most := range len(each) + 1 {
						visited := 0
						for range clock[c].Each() {
							if visited++; visited > most {
								break
							}
						}
						if visited != min(most+1, len(each)) {
							t.Fatalf("of %d lanes %d are visited, after which it ends", len(each), visited)
						}
					}
					if !maps.Equal(each, model[c]) {
						t.Fatalf("clock %d has %v, want %v", c, each, model[c])
					}
					for other := range clock {
						covers := true
						for l, p := range model[other] {
							covers = covers && model[c][l] >= p
							if got := clock[c].Covers(happensbefore.Epoch{Lane: l, Position: p}); got != (model[c][l] >= p) || clock[c].Of(l) != model[c][l] {
								t.Fatalf("clock %d covers position %d of lane %d: %v", c, p, l, got)
							}
						}
						if got := clock[c].CoversAll(clock[other]); got != covers {
							t.Fatalf("clock %d covers clock %d: %v", c, other, got)
						}
					}
				}
			},
		})
	})
}

// BenchmarkChain: each of many streams waits for the one before it.
func BenchmarkChain(b *testing.B) {
	for range b.N {
		var clock happensbefore.Clock
		kept := make([]happensbefore.Clock, 60_000)
		for lane := range kept {
			next := happensbefore.Clock{}
			next.Join(clock)
			next.Tick(lane)
			kept[lane], clock = next, next
		}
	}
}
