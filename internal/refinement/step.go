package refinement

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Follow does the step of a label, and compares the state of the allocator with the next
// state of the model.
func (sys *System) Follow(m bounded.Module, from *bounded.State, label string, next *bounded.State) error {
	if next == nil {
		return fmt.Errorf("the model has no step %s from\n%s", label, m.Text(nil, from))
	}
	before, err := sys.allocator.Stats(0)
	if err != nil {
		return err
	}
	if err := sys.do(from, label); err != nil {
		return fmt.Errorf("%s fails: %v\nin\n%s", label, err, m.Text(nil, from))
	}
	got, err := sys.Refine()
	if err != nil {
		return err
	}
	if !bytes.Equal(m.Key(nil, next), m.Key(nil, got)) {
		return fmt.Errorf("%s from\n%s\nthe allocator's state (+) is not the model's (-):\n%s",
			label, m.Text(nil, from), cmp.Diff(lines(m.Text(nil, next)), lines(m.Text(nil, got))))
	}
	if err := sys.compareBookkeeping(next); err != nil {
		return err
	}
	if err := sys.compareHandles(from, next); err != nil {
		return err
	}
	return sys.compareHistory(m, from, label, before)
}

// Take does the step of a label that was compared before, to the next state of the model.
func (sys *System) Take(from *bounded.State, label string, next *bounded.State) error {
	sys.countEvents(from, next)
	return sys.Do(label)
}

// countEvents counts the events that a step needs at most.
func (sys *System) countEvents(from, next *bounded.State) {
	for _, s := range []*bounded.State{from, next} {
		needed := len(s.Events)
		for _, g := range s.Segments {
			for _, b := range g.Blocks {
				needed += len(b.StreamUses)
			}
		}
		sys.mostEvents = max(sys.mostEvents, needed)
	}
}

// do does the action of a label.
func (sys *System) do(from *bounded.State, label string) error {
	if isFaulty(label) {
		name, n, err := bounded.ParseLabel(label)
		if err != nil {
			return err
		}
		return sys.doFaulty(from, name, n)
	}
	return sys.Do(label)
}

// isFaulty reports whether a driver call fails in the step of a label. Which of several calls that
// the model counts as one it is may differ when the step is done again.
func isFaulty(label string) bool {
	return strings.HasPrefix(label, "Failed") || strings.HasPrefix(label, "Refused")
}

// compareBookkeeping compares what the allocator keeps beside its blocks, and the model
// computes from them: the statistics and the free lists.
func (sys *System) compareBookkeeping(next *bounded.State) error {
	stats, err := sys.allocator.Stats(0)
	if err != nil {
		return err
	}
	if want, got := sys.ofState(next.Stats()), sys.ofState(model.Current(stats)); want != got {
		return fmt.Errorf("the allocator's statistics (+) are not the model's (-):\n%s", cmp.Diff(want, got))
	}
	var want, got []spec.Ptr
	for i := range next.Segments {
		for j := range next.Segments[i].Blocks {
			if b := &next.Segments[i].Blocks[j]; b.IsFree() {
				want = append(want, b.Address)
			}
		}
	}
	err = sys.allocator.Inspect(0, spec.Visitor{Free: func(b *spec.BlockView) { got = append(got, b.Address) }})
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return fmt.Errorf("the allocator's free lists (+) are not the model's (-):\n%s", cmp.Diff(want, got))
	}
	return err
}

// compareHandles: a pool has as many pins as mallocs of it have released the lock, and no more events
// exist than were needed at a time. A step needs one for each stream use, at most.
func (sys *System) compareHandles(from, next *bounded.State) (err error) {
	sys.countEvents(from, next)
	if sys.driver.events > sys.mostEvents {
		return fmt.Errorf("there are %d events, and never more than %d were needed", sys.driver.events, sys.mostEvents)
	}
	pins := map[spec.PoolID]int{}
	for _, c := range next.PendingMallocs {
		pins[c.AtDriver().Pool]++
	}
	inspected := sys.allocator.Inspect(0, spec.Visitor{Pool: func(p *spec.PoolView) {
		if p.Pins != pins[p.ID] {
			err = fmt.Errorf("pool %v has %d pins, not %d", p.ID, p.Pins, pins[p.ID])
		}
	}})
	return errors.Join(err, inspected)
}

// ofState is the statistics that follow from a state, and not from the way to it. What is
// oversize is counted by the max_split_size of the time.
func (sys *System) ofState(stats spec.DeviceStats) spec.DeviceStats {
	if sys.configured {
		stats.OversizeAllocations, stats.OversizeSegments = spec.Stat{}, spec.Stat{}
	}
	stats.NumAllocRetries, stats.NumOOMs, stats.NumSyncAllStreams = 0, 0, 0
	stats.NumDeviceAlloc, stats.NumDeviceFree = 0, 0
	return stats
}

// lines is a state's text with a line for each element, for the difference of two.
func lines(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), "],[", "],\n["), "\n")
}
