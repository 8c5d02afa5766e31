package alloc

import "testing"

// TestSlotGroup: of each combination of used slots, find, vacant and isFull say what loops say.
func TestSlotGroup(t *testing.T) {
	const absent = 99
	for used := range 1 << groupSize {
		var g slotGroup
		for place := range g {
			if used>>place&1 != 0 {
				g[place] = slot{uint64(place + 1), new(block)}
			}
		}
		vacant, full := &g[groupSize-1], true
		for place := groupSize - 1; place >= 0; place-- {
			if g[place].key == 0 {
				vacant, full = &g[place], false
			}
		}
		if got := g.vacant(); got != vacant {
			t.Errorf("%04b: vacant is slot %v, want %v", used, *got, *vacant)
		}
		if got := g.isFull(); got != full {
			t.Errorf("%04b: full is %v", used, got)
		}
		for place := range g {
			if key := g[place].key; key != 0 && g.find(key) != &g[place] {
				t.Errorf("%04b: the key of slot %d is not found", used, place)
			}
		}
		if s := g.find(absent); s.key == absent {
			t.Errorf("%04b: what is not there is found", used)
		}
	}
}
