package invariant

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// heldCheck is invariant 11: whatever holds a freed block back will let it go. A
// block that counts more events than are queued is never free again; one that
// counts fewer is free too early, and once more later.
//
// The sums are compared as those of the free lists are.
type heldCheck struct {
	device spec.Device
	report *violationReport

	counted, queued   heldSum // events, as blocks count them and as they are queued
	waiting, deferred heldSum // freed blocks with stream uses, and deferred frees
}

// heldSum stands for a multiset of blocks.
type heldSum struct {
	count int
	sum   uint64
}

func (s *heldSum) add(block spec.Ptr, times int) {
	s.count += times
	s.sum += uint64(times) * mix(uint64(block), 0)
}

func (h *heldCheck) start(dev spec.Device, r *violationReport) {
	*h = heldCheck{device: dev, report: r}
}

// block is a block that counts events or has stream uses.
func (h *heldCheck) block(b *spec.BlockView) {
	h.counted.add(b.Address, b.EventCount)
	switch {
	case !b.Allocated && b.StreamUses > 0:
		h.waiting.add(b.Address, 1)
	case b.Allocated && b.EventCount > 0:
		h.report.add(heldBlocksAreAwaited, h.device, b.Address,
			"block %v (%d bytes) is allocated while it waits for %d events of an earlier lifetime",
			b.Address, b.Size, b.EventCount)
	}
}

func (h *heldCheck) event(e *spec.PendingEventView)    { h.queued.add(e.Block, 1) }
func (h *heldCheck) deferral(d *spec.DeferredFreeView) { h.deferred.add(d.Block, 1) }

// differs reports whether something waits in vain, or is waited for that does not.
func (h *heldCheck) differs() bool { return h.counted != h.queued || h.waiting != h.deferred }

// heldCounts is what is known of one block.
type heldCounts struct {
	block             spec.Ptr
	counted, queued   int
	waiting, deferred int
}

// explainHeld compares block by block.
func explainHeld(in spec.Inspector, dev spec.Device, r *violationReport) error {
	var all []heldCounts
	err := in.Inspect(dev, spec.Visitor{
		Block: func(b *spec.BlockView) {
			h := heldCounts{block: b.Address, counted: b.EventCount}
			if !b.Allocated && b.StreamUses > 0 {
				h.waiting = 1
			}
			all = append(all, h)
		},
		PendingEvent: func(e *spec.PendingEventView) { all = append(all, heldCounts{block: e.Block, queued: 1}) },
		DeferredFree: func(d *spec.DeferredFreeView) { all = append(all, heldCounts{block: d.Block, deferred: 1}) },
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b heldCounts) int { return cmp.Compare(a.block, b.block) })
	for len(all) > 0 {
		h := all[0]
		for all = all[1:]; len(all) > 0 && all[0].block == h.block; all = all[1:] {
			h.counted += all[0].counted
			h.queued += all[0].queued
			h.waiting += all[0].waiting
			h.deferred += all[0].deferred
		}
		if h.counted != h.queued {
			r.add(heldBlocksAreAwaited, dev, h.block,
				"block %v counts %d events, %d are queued for it", h.block, h.counted, h.queued)
		}
		switch {
		case h.waiting > h.deferred:
			r.add(heldBlocksAreAwaited, dev, h.block,
				"block %v is freed and has stream uses, but no deferred free", h.block)
		case h.waiting < h.deferred:
			r.add(heldBlocksAreAwaited, dev, h.block,
				"a free of block %v is deferred %d times, but it does not wait for one", h.block, h.deferred)
		}
	}
	return nil
}
