package report

import (
	"maps"
	"math/bits"
	"slices"

	"gaugeblock/spec"
)

// SizeBin counts requests from From bytes to twice as many. From is a power of two.
type SizeBin struct {
	From               uint64 `json:"from"`
	Requests           int    `json:"requests"` // in the history
	RequestedBytes     uint64 `json:"requestedBytes"`
	PeakCount          int    `json:"peakCount"` // allocated at the peak
	PeakRequestedBytes uint64 `json:"peakRequestedBytes"`
}

// smallestBin counts all requests below 1 KiB, since no block is below 512 bytes.
const smallestBin = 512

// bins are the bins by From.
type bins map[uint64]*SizeBin

func (b bins) of(bytes uint64) *SizeBin {
	from := uint64(smallestBin)
	if bytes > smallestBin {
		from = 1 << (bits.Len64(bytes) - 1)
	}
	if b[from] == nil {
		b[from] = &SizeBin{From: from}
	}
	return b[from]
}

func (b bins) request(bytes uint64) {
	bin := b.of(bytes)
	bin.Requests++
	bin.RequestedBytes += bytes
}

// countPeak counts the allocated blocks of the state at the peak.
func (b bins) countPeak(s *allocatorState) {
	s.active.Scan(func(_ spec.Ptr, block activeBlock) bool {
		if !block.pendingFree {
			bin := b.of(block.requested)
			bin.PeakCount++
			bin.PeakRequestedBytes += block.requested
		}
		return true
	})
}

// sorted lists the bins from the smallest to the largest, with the empty ones between.
func (b bins) sorted() []SizeBin {
	list := []SizeBin{}
	if len(b) == 0 {
		return list
	}
	froms := slices.Sorted(maps.Keys(b))
	for from := froms[0]; ; from *= 2 {
		if bin := b[from]; bin != nil {
			list = append(list, *bin)
		} else {
			list = append(list, SizeBin{From: from})
		}
		if from == froms[len(froms)-1] {
			return list
		}
	}
}
