package model

import (
	"fmt"
	"strings"

	"gaugeblock/spec"
)

// Stats are the current values of the statistics. Peaks and sums over time are zero;
// Current makes an allocator's statistics comparable.
func (s State) Stats() spec.DeviceStats {
	var stats spec.DeviceStats
	add := func(figure *spec.StatArray, pool spec.PoolKind, amount uint64) {
		figure[pool.StatType()].Current += int64(amount)
		figure[spec.Aggregate].Current += int64(amount)
	}
	for _, g := range s.Segments {
		pool := g.PoolKind
		if !g.Expandable {
			add(&stats.Segment, pool, 1)
		}
		add(&stats.ReservedBytes, pool, g.mapped())
		for _, b := range g.Blocks {
			if b.State == spec.ActiveAllocated {
				add(&stats.Allocation, pool, 1)
				add(&stats.AllocatedBytes, pool, b.Size)
			}
			if b.State != spec.Inactive {
				add(&stats.Active, pool, 1)
				add(&stats.ActiveBytes, pool, b.Size)
				add(&stats.RequestedBytes, pool, b.RequestedSize)
			} else if len(g.Blocks) > 1 && !g.Expandable {
				add(&stats.InactiveSplit, pool, 1)
				add(&stats.InactiveSplitBytes, pool, b.Size)
			}
		}
	}
	stats.NumAllocRetries = s.Counters.NumAllocRetries
	stats.NumOOMs = s.Counters.NumOOMs
	stats.NumSyncAllStreams = s.Counters.NumSyncAllStreams
	stats.NumDeviceAlloc = s.Counters.NumDeviceAlloc
	stats.NumDeviceFree = s.Counters.NumDeviceFree
	stats.OversizeAllocations.Current = s.Counters.OversizeAllocations
	stats.OversizeSegments.Current = s.Counters.OversizeSegments
	stats.MaxSplitSize = s.Counters.MaxSplitSize
	return stats
}

// Current is statistics without peaks and sums over time.
func Current(stats spec.DeviceStats) spec.DeviceStats {
	clearPast := func(s *spec.Stat) { *s = spec.Stat{Current: s.Current} }
	for _, figure := range []*spec.StatArray{
		&stats.Allocation, &stats.Segment, &stats.Active, &stats.InactiveSplit,
		&stats.AllocatedBytes, &stats.ReservedBytes, &stats.ActiveBytes, &stats.InactiveSplitBytes, &stats.RequestedBytes,
	} {
		for t := range figure {
			clearPast(&figure[t])
		}
	}
	clearPast(&stats.OversizeAllocations)
	clearPast(&stats.OversizeSegments)
	return stats
}

// GetFreeBlock is the address of the cached block that a malloc would allocate in this
// state, if there is one.
func (s State) GetFreeBlock(stream spec.Stream, bytes uint64) (spec.Ptr, bool) { // only a counter of s changes
	c := s.begin(0, stream, bytes)
	c.size, c.pool = s.Round(bytes), s.getPool(stream)
	p, found := s.getFreeBlock(&c)
	if !found {
		return 0, false
	}
	return s.at(p).Address, true
}

// Layout is the segments as a snapshot has them. An expandable segment is there as its
// runs of mapped blocks.
func (s State) Layout() []spec.Segment {
	layout := make([]spec.Segment, 0, len(s.Segments))
	for _, g := range s.Segments {
		for _, blocks := range runs(g.Blocks) {
			layout = append(layout, s.snapshotOf(&g, blocks))
		}
	}
	return layout
}

// runs are the maximal runs of mapped blocks.
func runs(blocks []Block) (list [][]Block) {
	begin := 0
	for i := range blocks {
		if blocks[i].Unmapped {
			begin = i + 1
		} else if i+1 == len(blocks) || blocks[i+1].Unmapped {
			list = append(list, blocks[begin:i+1])
		}
	}
	return list
}

func (s *State) snapshotOf(g *Segment, blocks []Block) spec.Segment {
	run := spec.Segment{
		Device: s.Device, Address: blocks[0].Address, Stream: g.Stream,
		Pool: g.Pool, PoolKind: g.PoolKind, Expandable: g.Expandable,
	}
	for _, b := range blocks {
		run.TotalSize += b.Size
		if b.State == spec.ActiveAllocated {
			run.AllocatedSize += b.Size
		}
		if b.State != spec.Inactive {
			run.ActiveSize += b.Size
			run.RequestedSize += b.RequestedSize
		}
		run.Blocks = append(run.Blocks, spec.Block{
			Address: b.Address, Size: b.Size, RequestedSize: b.RequestedSize, State: b.State,
		})
	}
	return run
}

// String describes the state, a line for each segment.
func (s State) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "device %d: %d of %d bytes reserved", s.Device, s.Reserved(), s.Memory)
	if s.Limited {
		fmt.Fprintf(&text, ", limit %d", s.Limit)
	}
	for _, g := range s.Segments {
		fmt.Fprintf(&text, "\n  %v stream %v:", g.Address, g.Stream)
		for _, b := range g.Blocks {
			if b.Unmapped {
				fmt.Fprintf(&text, " (%d unmapped)", b.Size)
			} else {
				fmt.Fprintf(&text, " [%d %v]", b.Size, b.State)
			}
		}
	}
	for _, c := range s.PendingMallocs {
		fmt.Fprintf(&text, "\n  pending malloc of %d bytes, granted %v", c.RequestedSize, c.granted)
	}
	return text.String()
}
