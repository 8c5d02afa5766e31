package report

import (
	"cmp"
	"slices"

	"gaugeblock/snapshot"
	"gaugeblock/spec"
)

// Host is the pinned host memory of the process, which is of no device. PyTorch keeps freed blocks
// for later, as on a device, but does not split them: a segment is one block.
type Host struct {
	Allocated   uint64      `json:"allocated"` // at the end
	Reserved    uint64      `json:"reserved"`
	Peak        uint64      `json:"peak"`         // of allocated memory, in the history
	PeakEntry   int         `json:"peakEntry"`    // -1: at its start
	MostAtOnce  uint64      `json:"peakReserved"` // of reserved memory
	Allocations Allocations `json:"allocations"`
	Sites       []HostSite  `json:"sites"` // the most at the peak first
	MoreSites   int         `json:"moreSites"`
}

// HostSite is a line of the program, and the pinned memory that it holds.
type HostSite struct {
	Stack       int     `json:"stack"`
	Allocations int     `json:"allocations"`
	Peak        Holding `json:"peak"`
	End         Holding `json:"end"`
}

// host is the pinned host memory of the file.
func (b *builder) host() *Host {
	segments, trace := b.file.HostSegments, b.file.HostTrace
	if len(segments) == 0 && len(trace) == 0 {
		return nil
	}
	h := &Host{PeakEntry: -1, Sites: []HostSite{}}
	for i := range segments {
		h.Reserved += segments[i].TotalSize
		h.Allocated += allocatedIn(&segments[i])
	}
	all := hostLives(segments, trace)
	h.Allocations = b.polygons(slices.Values(all), len(trace), b.limits.polygons)
	h.Allocations.Kinds = nil
	h.findPeaks(all, trace)
	b.hostSites(h, all)
	return h
}

// hostLives are the allocations of pinned memory. What was allocated before the history shows
// when it is freed, or at the end.
func hostLives(segments []spec.Segment, trace []snapshot.TraceEntry) []life {
	all, known := slices.Collect(lives(nil, trace, func(size uint64) uint64 { return size })), map[spec.Ptr]bool{}
	before := func(size uint64, frames snapshot.Frames, end int) {
		all = append(all, life{Allocation: Allocation{-1, int64(end), int64(size)}, frames: frames})
	}
	for i := range trace {
		switch e := &trace[i]; e.Action {
		case spec.ActionAlloc:
			known[e.Addr] = true
		case spec.ActionFreeRequested:
			if !known[e.Addr] {
				before(e.Size, nil, i)
			}
			known[e.Addr] = true
		}
	}
	for i := range segments {
		for _, block := range segments[i].Blocks {
			if frames, _ := block.Context.(snapshot.Frames); block.State == spec.ActiveAllocated && !known[block.Address] {
				before(block.Size, frames, len(trace))
			}
		}
	}
	slices.SortStableFunc(all, func(a, b life) int {
		return cmp.Or(cmp.Compare(a.Allocation[allocationBegin], b.Allocation[allocationBegin]), cmp.Compare(a.number, b.number))
	})
	for i := range all {
		all[i].number = i
	}
	return all
}

// findPeaks finds the peak of allocated memory from its start on, and that of reserved memory from its
// end back.
func (h *Host) findPeaks(all []life, trace []snapshot.TraceEntry) {
	together := newHeights(len(trace))
	for i := range all {
		together.add(&all[i].Allocation)
		if all[i].Allocation[allocationBegin] < 0 {
			h.Peak += uint64(all[i].Allocation[allocationSize])
		}
	}
	for entry, bytes := range together.mostByBucket(1) {
		if bytes > h.Peak {
			h.Peak, h.PeakEntry = bytes, entry
		}
	}
	reserved := h.Reserved
	h.MostAtOnce = reserved
	for i := range slices.Backward(trace) {
		switch e := &trace[i]; e.Action {
		case spec.ActionSegmentAlloc:
			reserved -= min(reserved, e.Size)
		case spec.ActionSegmentFree:
			reserved += e.Size
		}
		h.MostAtOnce = max(h.MostAtOnce, reserved)
	}
}

// hostSites adds up what lines of the program hold.
func (b *builder) hostSites(h *Host, all []life) {
	type site struct {
		HostSite
		frames snapshot.Frames
	}
	sites := map[snapshot.Frame]*site{}
	var order []*site
	for i := range all {
		l := &all[i]
		frame, _ := l.frames.ProgramFrame()
		s := sites[frame]
		if s == nil {
			s = &site{frames: l.frames}
			sites[frame], order = s, append(order, s)
		}
		s.Allocations++
		held := Holding{uint64(l.Allocation[allocationSize]), 1}
		if at := int64(h.PeakEntry); l.Allocation[allocationBegin] <= at && at < l.Allocation[allocationEnd] {
			s.Peak.add(held)
		}
		if l.Allocation[allocationEnd] == int64(h.Allocations.Entries) {
			s.End.add(held)
		}
	}
	slices.SortStableFunc(order, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.Peak[0], a.Peak[0]), cmp.Compare(b.End[0], a.End[0]))
	})
	shown := min(len(order), b.limits.callSites)
	h.MoreSites = len(order) - shown
	for _, s := range order[:shown] {
		s.Stack = b.data.Stacks.add(s.frames)
		h.Sites = append(h.Sites, s.HostSite)
	}
}
