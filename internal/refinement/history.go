package refinement

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// The statistics over time are not part of a state. What a step adds to them is: the counters grow
// by as much as the model's, sums by what was allocated and freed, and a peak is between what there
// was before and after and what there can have been in between.

// compareHistory compares what a step has added to the statistics. The model's counters of a step
// in which a driver call fails are those up to the call.
func (sys *System) compareHistory(m bounded.Module, from *bounded.State, label string, before spec.DeviceStats) error {
	after, err := sys.allocator.Stats(0)
	if err != nil || isFaulty(label) {
		return err
	}
	to := bounded.Successor(m, from, label)
	if want, got := counted(from.Counters, to.Counters), counted(countersOf(before), countersOf(after)); want != got {
		return fmt.Errorf("%s: the allocator's counters grow (+) as the model's do not (-):\n%s", label, cmp.Diff(want, got))
	}
	past, now := figures(&before), figures(&after)
	for i := range past {
		was, is := past[i], now[i]
		most := max(was.Peak, was.Current+is.Allocated-was.Allocated)
		if is.Allocated-is.Freed != is.Current || is.Allocated < was.Allocated || is.Peak < max(was.Peak, is.Current) || is.Peak > most {
			return fmt.Errorf("%s: a statistic is %+v, and was %+v", label, is, was)
		}
	}
	return nil
}

// countersOf are the counters among the statistics.
func countersOf(s spec.DeviceStats) model.Counters {
	return model.Counters{
		NumAllocRetries: s.NumAllocRetries, NumOOMs: s.NumOOMs, NumSyncAllStreams: s.NumSyncAllStreams,
		NumDeviceAlloc: s.NumDeviceAlloc, NumDeviceFree: s.NumDeviceFree,
		OversizeAllocations: s.OversizeAllocations.Current, OversizeSegments: s.OversizeSegments.Current,
	}
}

// counted is by how much counters have grown.
func counted(from, to model.Counters) model.Counters {
	return model.Counters{
		NumAllocRetries:     to.NumAllocRetries - from.NumAllocRetries,
		NumOOMs:             to.NumOOMs - from.NumOOMs,
		NumSyncAllStreams:   to.NumSyncAllStreams - from.NumSyncAllStreams,
		NumDeviceAlloc:      to.NumDeviceAlloc - from.NumDeviceAlloc,
		NumDeviceFree:       to.NumDeviceFree - from.NumDeviceFree,
		OversizeAllocations: to.OversizeAllocations - from.OversizeAllocations,
		OversizeSegments:    to.OversizeSegments - from.OversizeSegments,
	}
}

// figures are the statistics with peaks and sums.
func figures(s *spec.DeviceStats) (list []spec.Stat) {
	for _, named := range s.Arrays() {
		list = append(list, named.Array[:]...)
	}
	for _, named := range s.Oversize() {
		list = append(list, *named.Stat)
	}
	return list
}
