package linearizability

import (
	"cmp"
	"fmt"
	"maps"

	"gaugeblock/spec"
)

// A snapshot has the segments and the history of each device, which must be of one time: what the history
// says from the beginning on is what the segments show.

// recordFromStart records the history, if the setup has that.
func (x *execution) recordFromStart() error {
	if !x.setup.Recorded {
		return nil
	}
	recorder, able := x.allocator.(spec.HistoryRecorder)
	if !able {
		return &spec.NotSupportedError{Op: "linearizability", Reason: "the allocator is not a spec.HistoryRecorder"}
	}
	return recorder.RecordHistory(spec.HistoryOptions{Enabled: true, MaxEntries: 100_000})
}

// compareHistory compares a snapshot's segments with its history. The first that differs is kept, for the end.
func (x *execution) compareHistory(s *spec.Snapshot) {
	for dev := range s.Traces {
		if x.setup.Recorded && x.torn == nil {
			x.torn = historyAgrees(s, spec.Device(dev))
		}
	}
}

// activeBlock is what an entry says of a block that is not free.
type activeBlock struct {
	requested uint64
	waits     bool
}

// historyAgrees reports how the segments of a device are not what its history says.
func historyAgrees(s *spec.Snapshot, dev spec.Device) error {
	told, reserved := map[spec.Ptr]activeBlock{}, uint64(0)
	for _, e := range s.Traces[dev] {
		switch e.Action {
		case spec.ActionAlloc:
			told[e.Addr] = activeBlock{requested: e.Size}
		case spec.ActionFreeRequested:
			told[e.Addr] = activeBlock{requested: e.Size, waits: true}
		case spec.ActionFreeCompleted:
			delete(told, e.Addr)
		case spec.ActionSegmentAlloc, spec.ActionSegmentMap:
			reserved += e.Size
		case spec.ActionSegmentFree, spec.ActionSegmentUnmap:
			reserved -= e.Size
		}
	}
	shown, total := map[spec.Ptr]activeBlock{}, uint64(0)
	for i := range s.Segments {
		if s.Segments[i].Device != dev {
			continue
		}
		total += s.Segments[i].TotalSize
		for _, b := range s.Segments[i].Blocks {
			if b.State != spec.Inactive {
				shown[b.Address] = activeBlock{b.RequestedSize, b.State == spec.ActivePendingFree}
			}
		}
	}
	var differs error
	if !maps.Equal(told, shown) {
		differs = fmt.Errorf("a snapshot of device %d shows the blocks %v, and by its history they are %v", dev, shown, told)
	}
	if reserved != total {
		differs = cmp.Or(differs, fmt.Errorf("a snapshot of device %d shows %d bytes reserved, and by its history they are %d", dev, total, reserved))
	}
	return differs
}
