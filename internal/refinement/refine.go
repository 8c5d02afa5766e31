package refinement

import (
	"slices"

	"gaugeblock/model"
	"gaugeblock/model/bounded"
	"gaugeblock/spec"
)

// Refine is the state of the model for the present state of the allocator and its device.
func (sys *System) Refine() (*bounded.State, error) {
	s := *sys.initial
	s.Config = sys.allocator.Config()
	s.Segments, s.Events, s.Streams = nil, nil, nil
	s.Pools, s.Routings, s.GraphStreamUses, s.Checkpoints = nil, nil, nil, nil
	uses := map[spec.Ptr][]spec.DeviceStream{}
	err := sys.allocator.Inspect(0, spec.Visitor{
		Block: func(b *spec.BlockView) { addBlock(&s, b) },
		StreamUse: func(u *spec.StreamUseView) {
			uses[u.Block] = append(uses[u.Block], u.Stream)
			if u.DuringCapture {
				s.GraphStreamUses = append(s.GraphStreamUses, model.GraphStreamUse{Block: u.Block, Stream: u.Stream})
			}
		},
		Pool: func(p *spec.PoolView) { addPool(&s, p) },
		PendingEvent: func(p *spec.PendingEventView) {
			id := spec.DeviceStream{Device: p.Device, Stream: p.Stream}
			s.Events = append(s.Events, model.Event{Stream: id, After: sys.driver.launchedBefore[p.Event], Block: p.Block})
		},
		Routing: func(id spec.PoolID) {
			stream, _ := sys.routed.streamOf(id)
			s.Routings = append(s.Routings, model.PoolRouting{Pool: id, Stream: stream})
		},
	})
	for i := range s.Segments {
		for j := range s.Segments[i].Blocks {
			b := &s.Segments[i].Blocks[j]
			b.StreamUses = uses[b.Address]
		}
	}
	for _, stream := range sys.streams() {
		q := sys.driver.queues[stream]
		s.Streams = append(s.Streams, model.Stream{
			ID: spec.DeviceStream{Stream: stream}, Completed: q.completed(), Work: slices.Clone(q.work[q.completed():]),
		})
	}
	s.Number()
	s.Marked = sys.marked
	sys.addCheckpoints(&s)
	sys.addCalls(&s)
	s.Truth = sys.record.Truth
	return &s, err
}

// addBlock appends a block. The first block of a segment appends the segment.
func addBlock(s *bounded.State, b *spec.BlockView) {
	if b.First {
		g := model.Segment{
			Address: b.Address, Stream: b.Stream, Pool: b.Pool, PoolKind: b.PoolKind, Expandable: b.Expandable,
		}
		if g.Expandable {
			g.Page = s.Geometry.SmallBuffer
		}
		if g.Expandable && g.PoolKind == spec.LargePool {
			g.Page = s.Config.LargeSegmentSize
		}
		s.Segments = append(s.Segments, g)
	}
	g := &s.Segments[len(s.Segments)-1]
	g.Size += b.Size
	g.Blocks = append(g.Blocks, model.Block{
		Address: b.Address, Size: b.Size, RequestedSize: b.RequestedSize, State: b.State(), Unmapped: !b.Mapped,
		Made: int(b.Order), GCCountBase: s.GetFreeBlocksCallCount[b.PoolKind] - b.Age,
	})
}
