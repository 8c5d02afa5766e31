package pluggable

import (
	"encoding/json"

	"gaugeblock/spec"
)

// The members that torch.cuda.memory._snapshot has of segments and blocks, as far as
// they are known here.

type snapshotSegment struct {
	Device     spec.Device     `json:"device"`
	Address    uint64          `json:"address"`
	TotalSize  uint64          `json:"total_size"`
	Allocated  uint64          `json:"allocated_size"`
	Active     uint64          `json:"active_size"`
	Requested  uint64          `json:"requested_size"`
	Stream     uint64          `json:"stream"`
	Type       string          `json:"segment_type"`
	Pool       [2]uint64       `json:"segment_pool_id"`
	Expandable bool            `json:"is_expandable"`
	Blocks     []snapshotBlock `json:"blocks"`
}

type snapshotBlock struct {
	Address   uint64 `json:"address"`
	Size      uint64 `json:"size"`
	Requested uint64 `json:"requested_size"`
	State     string `json:"state"`
}

// Snapshot is a picture of all memory in JSON: {"segments": [...]}.
func (l *Library) Snapshot() ([]byte, error) {
	s, err := l.allocator.Snapshot()
	if err != nil {
		return nil, err
	}
	segments := make([]snapshotSegment, 0, len(s.Segments))
	for i := range s.Segments {
		segments = append(segments, segmentOf(&s.Segments[i]))
	}
	return json.Marshal(map[string]any{"segments": segments})
}

func segmentOf(g *spec.Segment) snapshotSegment {
	s := snapshotSegment{
		Device: g.Device, Address: uint64(g.Address), TotalSize: g.TotalSize,
		Allocated: g.AllocatedSize, Active: g.ActiveSize, Requested: g.RequestedSize,
		Stream: uint64(g.Stream), Type: "small", Pool: [2]uint64{g.Pool.Capture, g.Pool.User},
		Expandable: g.Expandable, Blocks: []snapshotBlock{},
	}
	if g.PoolKind == spec.LargePool {
		s.Type = "large"
	}
	for _, b := range g.Blocks {
		s.Blocks = append(s.Blocks, snapshotBlock{uint64(b.Address), b.Size, b.RequestedSize, b.State.String()})
	}
	return s
}
