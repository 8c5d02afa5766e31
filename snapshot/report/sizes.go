package report

import (
	"math/bits"
	"slices"

	"gaugeblock/spec"
)

// Bin counts requests from From bytes to twice as many, From being a power of two.
type Bin struct {
	From     uint64 `json:"from"`
	Requests int    `json:"requests"` // in the history
	Bytes    uint64 `json:"bytes"`
	Live     int    `json:"live"` // given out at the peak
	LiveSum  uint64 `json:"liveBytes"`
}

// smallestBin holds everything up to 1 KiB, since no block is below 512 bytes.
const smallestBin = 512

// bins count sizes by their power of two.
type bins map[uint64]*Bin

func (b bins) of(bytes uint64) *Bin {
	from := uint64(smallestBin)
	if bytes > smallestBin {
		from = 1 << (bits.Len64(bytes) - 1)
	}
	if b[from] == nil {
		b[from] = &Bin{From: from}
	}
	return b[from]
}

func (b bins) request(bytes uint64) {
	bin := b.of(bytes)
	bin.Requests++
	bin.Bytes += bytes
}

// live counts what is given out in a picture.
func (b bins) live(p *picture) {
	p.blocks.Scan(func(_ spec.Ptr, block out) bool {
		if !block.pending {
			bin := b.of(block.requested)
			bin.Live++
			bin.LiveSum += block.requested
		}
		return true
	})
}

// sorted lists the bins from the smallest to the largest, those between that are empty
// included.
func (b bins) sorted() []Bin {
	list := []Bin{}
	if len(b) == 0 {
		return list
	}
	var froms []uint64
	for from := range b {
		froms = append(froms, from)
	}
	for from := slices.Min(froms); ; from *= 2 {
		if bin := b[from]; bin != nil {
			list = append(list, *bin)
		} else {
			list = append(list, Bin{From: from})
		}
		if from == slices.Max(froms) {
			return list
		}
	}
}
