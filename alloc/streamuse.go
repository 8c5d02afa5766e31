package alloc

import (
	"slices"

	"gaugeblock/spec"
)

// recordStream notes that a stream of device dev uses the block at ptr. The
// allocation stream needs no note: its order alone keeps a later owner's work
// behind. (Upstream compares handles only, so the default stream of any device
// counts as the allocation stream of a block on a default stream; see
// docs/deviations.md.) It takes the lock.
func (d *device) recordStream(ptr spec.Ptr, dev spec.Device, stream spec.Stream) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.table.get(ptr)
	if b == nil {
		return &spec.InvalidPointerError{Op: "record_stream", Ptr: ptr}
	}
	if stream == b.stream && dev == d.id {
		return nil
	}
	addUse(&b.uses, streamUse{stream, dev, d.redirecting()})
	return nil
}

// addUse puts a use into an ordered list. A stream that is there already counts as
// noted during a capture if it was, now or before.
func addUse(uses *[]streamUse, u streamUse) {
	at := 0
	for at < len(*uses) && (*uses)[at].less(u) {
		at++
	}
	if at < len(*uses) && (*uses)[at].sameStream(u) {
		(*uses)[at].captured = (*uses)[at].captured || u.captured
		return
	}
	*uses = slices.Insert(*uses, at, u)
}
