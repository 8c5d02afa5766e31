package invariant

import (
	"slices"

	"gaugeblock/spec"
	"gaugeblock/spec/happensbefore"
)

// checkReuse is invariant 14: it looks, at the moment when memory is allocated,
// for work that used it in an earlier lifetime and is not certain to be over when the
// new owner's work begins.
//
// The new owner's work comes after its own stream's work, and after what that
// stream waits for. So the earlier owner may be the same stream: its work need not
// have completed. Everything else must have, or must be waited for.
//
// The program answers for its own part: work in streams that were not recorded for
// the memory is no business of the allocator.
func (h *History) checkReuse(g *Allocation) {
	memory, stream := spec.Range{Ptr: g.Ptr, Bytes: g.Bytes}, spec.DeviceStream{Device: g.Device, Stream: g.Stream}
	h.retired = slices.DeleteFunc(h.retired, func(r retirement) bool {
		return !slices.ContainsFunc(r.uses, func(u happensbefore.Epoch) bool { return !h.order.Seen(u) })
	})
	h.retired = slices.DeleteFunc(h.retired, func(r retirement) bool {
		if r.owner.Device != g.Device || !r.memory.Overlaps(memory) {
			return false
		}
		for _, u := range r.uses {
			if !h.order.before(u, stream) {
				h.reportReuse(g, &r, u)
				break
			}
		}
		// What comes after the new owner comes after the old one as well.
		return memory.Contains(r.memory)
	})
}

// reportReuse names the work that may still run.
func (h *History) reportReuse(g *Allocation, r *retirement, u happensbefore.Epoch) {
	by := h.order.Lane(u.Lane).Stream()
	h.breaches.add(noReuseWhileInUse, g.Device, g.Ptr,
		"%v (%d bytes) was allocated for stream %v while work of stream %v on device %d may still use %v (%d bytes), freed by stream %v",
		g.Ptr, g.Bytes, g.Stream, by.Stream, by.Device, r.memory.Ptr, r.memory.Bytes, r.owner.Stream)
}
