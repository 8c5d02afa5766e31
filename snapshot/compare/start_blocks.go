package compare

import (
	"gaugeblock/snapshot/history"
	"gaugeblock/snapshot/play"
	"gaugeblock/spec"
)

// How large a block was that is allocated at the start of an incomplete history, and is freed in it,
// is not always in the record: a remainder that is too small is not split off, and a free block
// behind it hides where it ended. So what is allocated may be more than is known.

// startBlocksMatter reports whether that may be so at the peak.
func (c *comparing) startBlocksMatter(p *Prediction) bool {
	w := c.Workload
	if w.Complete() {
		return false
	}
	hidden, more := make([]uint64, w.Allocations), uint64(0) // how much larger blocks may be
	for id, b := range c.startBlocks(p) {
		hidden[id] = b.hidden
		more += b.hidden
	}
	if more == 0 {
		return false
	}
	matter, number := w.AllocatedAtStart()+more > p.PeakAllocated, 0
	_, err := play.Run(w, play.RunOptions{
		Settings: p.Settings, Reading: c.Readings[0], Assumptions: play.MeasuredDriver, Memory: c.memory,
		WatchAllocated: func(allocated uint64) {
			if q := &w.Requests[number]; q.Kind == history.Free {
				more -= hidden[q.ID]
				hidden[q.ID] = 0
			}
			number++
			matter = matter || more > 0 && allocated+more > p.PeakAllocated
		},
	})
	return matter || err != nil
}

// startBlock is an allocated block of the start.
type startBlock struct {
	spec.Block
	hidden uint64
}

// startBlocks are the allocated blocks of the start, by ID. Of one that is never freed the size is
// in the snapshot, and where one ends is seen if the next request is served from there.
func (c *comparing) startBlocks(p *Prediction) (list []startBlock) {
	w := c.Workload
	freed := make([]int32, w.Allocations) // by which entry
	for i := range w.Requests {
		if q := &w.Requests[i]; q.Kind == history.Free {
			freed[q.ID] = q.Entry + 1
		}
	}
	served := map[spec.Ptr]int32{} // by the first entry
	for i := range w.Trace {
		if e := &w.Trace[i]; e.Action == spec.ActionAlloc && served[e.Addr] == 0 {
			served[e.Addr] = int32(i) + 1
		}
	}
	for i := range w.InitialSegments {
		s := &w.InitialSegments[i]
		for j, b := range s.Blocks {
			if b.State == spec.Inactive {
				continue
			}
			block := startBlock{Block: b}
			if s.PoolKind == spec.LargePool && !s.Expandable && j+1 < len(s.Blocks) && s.Blocks[j+1].State == spec.Inactive {
				end, seen := freed[len(list)], served[b.Address+spec.Ptr(b.Size)]
				if end > 0 && (seen == 0 || seen > end) {
					block.hidden = min(s.Blocks[j+1].Size, unsplit(p.Settings))
				}
			}
			list = append(list, block)
		}
	}
	return list
}

// unsplit is the largest remainder that is not split off a block of a large pool.
func unsplit(s history.Settings) uint64 {
	if s.Config.MaxSplitSize != spec.Unlimited {
		return s.Config.LargeSegmentSize
	}
	return spec.DefaultGeometry().SmallSize
}
