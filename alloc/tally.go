package alloc

import "gaugeblock/spec"

// Contract: a tally is a spec.StatArray, and blockStats are one for each statistic of blocks.
// TestTallyEqualsStatArray and TestBlockStatsEqualStatArrays compare them; the rest of this file
// need not be read.

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

// decrease subtracts from the tally.
func (t *tally) decrease(kind spec.PoolKind, amount int64) { t.kinds[kind&1].current -= amount }

// increase adds to the tally.
func (t *tally) increase(kind spec.PoolKind, amount int64) {
	k := &t.kinds[kind&1]
	k.increased += amount
	k.current += amount
	if k.current > k.peak {
		k.peak = k.current
	}
	if all := t.current(); all > t.peak {
		t.peak = all
	}
}

// add adds a change of either sign. There is no branch on the sign, which the processor cannot
// predict.
func (t *tally) add(kind spec.PoolKind, change int64) {
	k := &t.kinds[kind&1]
	k.increased += max(change, 0)
	k.current += change
	if k.current > k.peak {
		k.peak = k.current
	}
	if all := t.current(); all > t.peak {
		t.peak = all
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

// A pendingTally is what active has beyond allocation, or active_bytes beyond allocated_bytes: the
// blocks that are pending or deferred. Mostly there are none, and a malloc and a free change
// nothing here.
type pendingTally struct {
	current, atReset [2]int64 // by spec.PoolKind; atReset: when the accumulated values were reset
	peaks            [2]int64 // of active, while anything was pending; those of allocation count too
	peak             int64    // the same of all pools
}

// raisePeaks makes the peaks those of active if they are above. Active rises only when allocation
// does.
func (p *pendingTally) raisePeaks(allocation *tally) {
	all := int64(0)
	for i := range p.current {
		active := allocation.kinds[i].current + p.current[i]
		p.peaks[i] = max(p.peaks[i], active)
		all += active
	}
	p.peak = max(p.peak, all)
}

// resetPeak sets the peaks to the current values of active.
func (p *pendingTally) resetPeak(allocation *tally) {
	p.peaks, p.peak = [2]int64{}, 0
	p.raisePeaks(allocation)
}

// active is allocation and what is pending, as spec has it.
func (p *pendingTally) active(allocation *tally) spec.StatArray {
	t := *allocation
	for i := range t.kinds {
		k := &t.kinds[i]
		k.current += p.current[i]
		k.atReset += p.atReset[i]
		k.peak = max(k.peak, p.peaks[i])
	}
	t.peak = max(t.peak, p.peak)
	return t.stats()
}

// blockStats are the statistics of blocks. The others are kept as spec has them.
type blockStats struct {
	allocation, allocatedBytes, requestedBytes tally
	inactiveSplit, inactiveSplitBytes          tally

	pendingBlocks         int // how many are pending or deferred
	pending, pendingBytes pendingTally
}

// allocate counts an allocated block, and by how many blocks and bytes inactive_split changes with
// it. If the bytes do not change, nor do the blocks, and splitBlocks does not matter.
func (s *blockStats) allocate(kind spec.PoolKind, size, requested, splitBlocks, splitBytes int64) {
	s.allocation.increase(kind, 1)
	s.allocatedBytes.increase(kind, size)
	s.requestedBytes.increase(kind, requested)
	if splitBytes != 0 {
		s.inactiveSplit.add(kind, splitBlocks)
		s.inactiveSplitBytes.add(kind, splitBytes)
	}
	if s.pendingBlocks > 0 {
		s.pending.raisePeaks(&s.allocation)
		s.pendingBytes.raisePeaks(&s.allocatedBytes)
	}
}

// requestFree counts that a block is not allocated any more.
func (s *blockStats) requestFree(kind spec.PoolKind, size int64) {
	s.allocation.decrease(kind, 1)
	s.allocatedBytes.decrease(kind, size)
}

// completeFree counts that a block has become free.
func (s *blockStats) completeFree(kind spec.PoolKind, requested int64) {
	s.requestedBytes.decrease(kind, requested)
}

// changePending counts that a block has become pending or deferred (1), or is so no longer (-1).
func (s *blockStats) changePending(kind spec.PoolKind, change, size int64) {
	s.pendingBlocks += int(change)
	s.pending.current[kind] += change
	s.pendingBytes.current[kind] += change * size
}

func (s *blockStats) tallies() [5]*tally {
	return [...]*tally{&s.allocation, &s.allocatedBytes, &s.requestedBytes, &s.inactiveSplit, &s.inactiveSplitBytes}
}

func (s *blockStats) resetPeak() {
	for _, t := range s.tallies() {
		t.resetPeak()
	}
	s.pending.resetPeak(&s.allocation)
	s.pendingBytes.resetPeak(&s.allocatedBytes)
}

func (s *blockStats) resetAccumulated() {
	for _, t := range s.tallies() {
		t.resetAccumulated()
	}
	s.pending.atReset, s.pendingBytes.atReset = s.pending.current, s.pendingBytes.current
}

// fill writes the statistics of blocks into those of a device.
func (s *blockStats) fill(stats *spec.DeviceStats) {
	stats.Allocation, stats.AllocatedBytes = s.allocation.stats(), s.allocatedBytes.stats()
	stats.Active, stats.ActiveBytes = s.pending.active(&s.allocation), s.pendingBytes.active(&s.allocatedBytes)
	stats.RequestedBytes = s.requestedBytes.stats()
	stats.InactiveSplit, stats.InactiveSplitBytes = s.inactiveSplit.stats(), s.inactiveSplitBytes.stats()
}
