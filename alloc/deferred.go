package alloc

import (
	"cmp"
	"slices"

	"gaugeblock/spec"
)

// While a stream is captured the driver cannot say what has completed, so a block
// that other streams used cannot be held back by events: its free is put off until
// nothing is captured or redirected any more. Then the uses that were noted during
// the capture drop out, because a capture joins all of its streams before it ends,
// and the others get their events as usual.
//
// With graph_capture_record_stream_reuse the graph under capture itself may show,
// earlier, that all uses are over; see reuse.go.

// deferredFrees are the frees put off, by stream handle, then by address.
type deferredFrees []deferredFree

type deferredFree struct {
	block   *block
	markers []spec.GraphNode // none: only the end of the capture will do
}

// deferFree puts the free of a block off.
func (d *device) deferFree(b *block, markers []spec.GraphNode) {
	at, _ := slices.BinarySearchFunc(d.deferred, b, func(f deferredFree, b *block) int {
		return cmp.Or(cmp.Compare(f.block.stream, b.stream), cmp.Compare(f.block.ptr, b.ptr))
	})
	d.deferred = slices.Insert(d.deferred, at, deferredFree{b, markers})
}

// resolveDeferred frees what was put off, now that nothing is captured, or makes
// it wait for events. If an event cannot be recorded, that free and those behind
// it stay put off.
func (d *device) resolveDeferred(context any) error {
	for len(d.deferred) > 0 {
		b := d.deferred[0].block
		uses := slices.DeleteFunc(slices.Clone(b.uses), func(u streamUse) bool { return u.captured })
		events, err := d.recordEvents(uses)
		if err != nil {
			return err
		}
		d.deferred = d.deferred[1:]
		b.uses = uses
		if len(events) > 0 {
			d.holdBack(b, events)
		} else {
			d.freeBlock(b, context)
		}
	}
	d.deferred = nil
	return nil
}
