package alloc

import "gaugeblock/spec"

// A tally is a spec.StatArray in fewer numbers, since every malloc and free changes several.
// Sums over all pools are those of the kinds; only their peak has to be kept. What was freed
// is what was allocated less what is left.
type tally struct {
	kinds [2]kindTally // by spec.PoolKind
	peak  int64        // of all pools
}

// kindTally is the numbers for the pools of one kind.
type kindTally struct {
	current, peak int64
	increased     int64 // the sum of all increases since the accumulated values were reset
	atReset       int64 // current at that time
}

func (t *tally) current() int64 { return t.kinds[0].current + t.kinds[1].current }

// increase adds to the tally.
func (t *tally) increase(kind spec.PoolKind, amount int64) {
	k := &t.kinds[kind]
	k.current += amount
	k.increased += amount
	if k.current > k.peak {
		k.peak = k.current
	}
	if all := t.current(); all > t.peak {
		t.peak = all
	}
}

// decrease subtracts from the tally.
func (t *tally) decrease(kind spec.PoolKind, amount int64) { t.kinds[kind].current -= amount }

// add adds a change of either sign.
func (t *tally) add(kind spec.PoolKind, change int64) {
	switch {
	case change > 0:
		t.increase(kind, change)
	case change < 0:
		t.decrease(kind, -change)
	}
}

// resetPeak sets the peaks to the current values.
func (t *tally) resetPeak() {
	for i := range t.kinds {
		t.kinds[i].peak = t.kinds[i].current
	}
	t.peak = t.current()
}

// resetAccumulated sets the sums of increases and of decreases to 0.
func (t *tally) resetAccumulated() {
	for i := range t.kinds {
		t.kinds[i].increased, t.kinds[i].atReset = 0, t.kinds[i].current
	}
}

// stats is the tally as spec has it.
func (t *tally) stats() (a spec.StatArray) {
	for kind := range spec.PoolKind(2) {
		k := &t.kinds[kind]
		freed := k.atReset + k.increased - k.current
		a[kind.StatType()] = spec.Stat{Current: k.current, Peak: k.peak, Allocated: k.increased, Freed: freed}
		all := &a[spec.Aggregate]
		all.Current += k.current
		all.Allocated += k.increased
		all.Freed += freed
	}
	a[spec.Aggregate].Peak = t.peak
	return a
}

// blockStats are the statistics of blocks. The others are kept as spec has them.
type blockStats struct {
	allocation, allocatedBytes        tally
	active, activeBytes               tally
	requestedBytes                    tally
	inactiveSplit, inactiveSplitBytes tally
}

func (s *blockStats) each(do func(*tally)) {
	for _, t := range [...]*tally{
		&s.allocation, &s.allocatedBytes, &s.active, &s.activeBytes, &s.requestedBytes,
		&s.inactiveSplit, &s.inactiveSplitBytes,
	} {
		do(t)
	}
}

// fill writes the statistics of blocks into those of a device.
func (s *blockStats) fill(stats *spec.DeviceStats) {
	stats.Allocation, stats.AllocatedBytes = s.allocation.stats(), s.allocatedBytes.stats()
	stats.Active, stats.ActiveBytes = s.active.stats(), s.activeBytes.stats()
	stats.RequestedBytes = s.requestedBytes.stats()
	stats.InactiveSplit, stats.InactiveSplitBytes = s.inactiveSplit.stats(), s.inactiveSplitBytes.stats()
}
