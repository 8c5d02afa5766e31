package alloc

import (
	"fmt"

	"gaugeblock/spec"
	"gaugeblock/upstream"
)

// Memory at a given address (upstream: allocateWithAddress, pytorch/pytorch#178215). It comes out
// of a free block: the part before the address is allocated first, then the request, then that first
// part is freed, each as by a malloc and a free of its own, with trace entries and counts. The first
// part is cut off in pools whose blocks are not split, too.

// mallocWithAddress is what the trace entries of the three steps have as their metadata.
const mallocWithAddress = "mallocWithAddress"

// MallocAt allocates memory at an address; see spec.ExactAllocator.
func (a *Allocator) MallocAt(r spec.Request, p spec.Ptr) error {
	const op = "malloc_at"
	if a.rules.ExactAddress == upstream.NoExactAddress {
		return &spec.NotSupportedError{Op: op, Reason: "this release cannot allocate at an address"}
	}
	d, err := a.device(op, r.Device)
	if err != nil || r.Bytes == 0 {
		return err
	}
	if r.Bytes >= a.geometry.MaxRequest {
		return &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	if uint64(p)%a.geometry.MinBlock != 0 {
		reason := fmt.Sprintf("the address %v is not a multiple of %d", p, a.geometry.MinBlock)
		return &spec.InvalidArgumentError{Op: op, Reason: reason}
	}
	context := d.maybeGatherContext(spec.ContextState)
	return d.withMutex(func(d *device) error {
		d.operation = operation{
			context: context, thread: r.Thread, stream: r.Stream, callName: mallocWithAddress,
		}
		return d.mallocAtLocked(op, p, &allocParams{stream: r.Stream, requestedSize: r.Bytes})
	})
}

func (d *device) mallocAtLocked(op string, p spec.Ptr, params *allocParams) error {
	if err := d.reclaimBlocksLocked(params); err != nil {
		return err
	}
	pool := d.getPoolLocked(params)
	if err := d.markIfCapturingLocked(pool, params.stream); err != nil {
		return err
	}
	d.chooseBlockPoolLocked(params, pool)
	b := d.freeBlockAroundLocked(p, params)
	if b == nil {
		reason := fmt.Sprintf("no free block has %d bytes at %v", params.size, p)
		return &spec.InvalidStateError{Op: op, Reason: reason}
	}
	b.removeFromList()
	if b.isExpandable() {
		if err := d.setAccessLocked(b); err != nil {
			return err
		}
	}
	var before *block
	if prefix := uint64(p - b.ptr); prefix > 0 {
		before = d.allocFoundBlockLocked(b, prefix, prefix, true)
		d.recordAllocLocked(before)
		b.removeFromList()
	}
	split := d.shouldSplitLocked(b, params.size, params.useExpandable)
	d.recordAllocLocked(d.allocFoundBlockLocked(b, params.size, params.requestedSize, split))
	if before != nil {
		d.freeAtOnceLocked(before)
	}
	return nil
}

// freeBlockAroundLocked is the free block of the request's stream and block pool that has room for
// the request at an address, or nil.
func (d *device) freeBlockAroundLocked(p spec.Ptr, params *allocParams) *block {
	for b := range params.blockPool.blocks.allFree() {
		if b.segment.stream == params.stream && b.ptr <= p && p < b.end() {
			if uint64(b.end()-p) >= params.size {
				return b
			}
			return nil
		}
	}
	return nil
}
