package conformance

import (
	"errors"
	"fmt"

	"gaugeblock/spec"
)

// visibleState is what can be seen of a device between two operations, as far as labels
// need it. It is taken after every operation, so it is small and its slices are used
// again.
type visibleState struct {
	stats  spec.DeviceStats
	blocks []seenBlock // by address within a segment
	pools  int

	// Only an Inspector shows these.
	pending  int // events that are waited for
	deferred int // deferred frees

	growing []spec.StreamSegmentSize // expandable segments
}

// seenBlock is a block with memory behind it.
type seenBlock struct {
	address spec.Ptr
	size    uint64
	stream  spec.Stream
	pool    spec.PoolID
	kind    spec.PoolKind
	state   spec.BlockState
}

// block is the one that begins at the address, nil if none does.
func (p *visibleState) block(at spec.Ptr) *seenBlock {
	for i := range p.blocks {
		if p.blocks[i].address == at {
			return &p.blocks[i]
		}
	}
	return nil
}

// look takes the visible state of every device.
func (t *Trial) look() error {
	for dev := range t.now {
		if err := t.lookAt(spec.Device(dev), &t.now[dev]); err != nil {
			return fmt.Errorf("device %d: %w", dev, err)
		}
	}
	return nil
}

func (t *Trial) lookAt(dev spec.Device, p *visibleState) (err error) {
	allocator := t.player.Allocator()
	if p.stats, err = allocator.Stats(dev); err != nil && !errors.Is(err, spec.ErrNotSupported) {
		return err
	}
	p.blocks, p.pools, p.pending, p.deferred = p.blocks[:0], 0, 0, 0
	if in, able := allocator.(spec.Inspector); able {
		err = in.Inspect(dev, p.visitor())
	} else {
		err = p.fromSnapshot(dev, allocator)
	}
	if err != nil {
		return err
	}
	if expandable, able := allocator.(spec.ExpandableSegments); able {
		p.growing, err = expandable.ExpandableSegmentSizes(dev)
	}
	return err
}

func (p *visibleState) visitor() spec.Visitor {
	return spec.Visitor{
		Block: func(b *spec.BlockView) {
			if b.Mapped {
				p.blocks = append(p.blocks, seenBlock{b.Address, b.Size, b.Stream, b.Pool, b.PoolKind, b.State()})
			}
		},
		Pool:         func(*spec.PoolView) { p.pools++ },
		PendingEvent: func(*spec.PendingEventView) { p.pending++ },
		DeferredFree: func(*spec.DeferredFreeView) { p.deferred++ },
	}
}

func (p *visibleState) fromSnapshot(dev spec.Device, a spec.Allocator) error {
	s, err := a.Snapshot()
	if errors.Is(err, spec.ErrNotSupported) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range s.Segments {
		g := &s.Segments[i]
		if g.Device != dev {
			continue
		}
		for _, b := range g.Blocks {
			p.blocks = append(p.blocks, seenBlock{b.Address, b.Size, g.Stream, g.Pool, g.PoolKind, b.State})
		}
	}
	return nil
}
