package alloc

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Expandable segments. A program trains with batches of N samples: each of its buffers, once
// freed, is a segment of exactly the size that the next batch needs. Now comes a batch of N+1.
// Every request is a little larger than the free segments, so each of them needs a new segment,
// and the old ones are of no use but cannot be joined: each is a cudaMalloc of its own. The device
// runs out of memory although half of what is reserved is free.
//
// An expandable segment is a reserved range of addresses, a little larger than the device's
// memory. Pages of physical memory are mapped into it as they are needed (pytorch/pytorch#96995),
// so a free block at the end of the mapped memory grows by what the larger request lacks. The
// pages of free blocks can be unmapped, anywhere in the range, and mapped elsewhere.
//
//	base                                                            end
//	| block | free | block |  unmapped  | free | block |   unmapped   |
//	|<------- pages ------>|            |<-- pages --->|
//
// Blocks, mapped and unmapped, cover the reserved range. All pages of a segment have
// one size: SmallBuffer for a small block pool, the large segment size for a large one.
// This file has the range and its access, pages.go how pages are mapped and unmapped,
// mapping.go what that does to blocks.

// An expandableSegment is the reserved range and its pages (upstream: ExpandableSegment).
// For a segment it is guarded by the device's mutex, for pages of another process (share.go)
// by openedHandles.mu.
type expandableSegment struct {
	device       *device
	memory       spec.VirtualMemory
	base         spec.Ptr
	stream       spec.Stream   // of the segment
	imported     bool          // the pages belong to another process, and any stream may use them
	pageSize     uint64        // bytes
	maxHandles   int           // number of pages that the range has room for
	pages        []page        // by position; no page is mapped beyond the end of the slice
	peers        []spec.Device // other devices with access
	mappedSize   uint64        // bytes
	inaccessible int           // number of inaccessible pages
}

// page is the physical memory at one position of the range.
type page struct {
	handle       spec.PageHandle
	mapped       bool
	inaccessible bool   // mapped, but access is not set for every device; see pages.go
	exported     []byte // the handle for other processes, once it was made
}

// reserveExpandableLocked reserves a range: for 9/8 of the device's memory, since pages that were
// unmapped at low addresses can be mapped again at the end, or as expandable_segments_reserve says.
// With such a reserve that is smaller than the request there is none: nil without an error.
func (d *device) reserveExpandableLocked(params *allocParams) (*expandableSegment, error) {
	memory, ok := d.driver.(spec.VirtualMemory)
	if !ok {
		const reason = "expandable segments are on, but the driver has no virtual memory"
		return nil, &spec.NotSupportedError{Op: "malloc", Reason: reason}
	}
	x := &expandableSegment{
		device: d, memory: memory, stream: params.stream,
		pageSize: d.geometry.SmallBuffer, peers: slices.Clone(d.devicesWithPeerAccess),
	}
	if params.blockPool.kind == spec.LargePool {
		x.pageSize = d.cfg.LargeSegmentSize
	}
	reserve := d.cfg.ReserveFor(d.reserveClasses[params.stream])
	x.maxHandles = int((reserve.Of(d.totalMemory) + x.pageSize - 1) / x.pageSize)
	if reserve != (spec.Reserve{}) && x.size() < params.size {
		return nil, nil
	}
	if err := x.reserve("malloc"); err != nil {
		return x, err
	}
	return x, d.checkSegmentLocked(spec.Range{Ptr: x.base, Bytes: x.size()}, d.geometry.MinBlock)
}

// reserve reserves the addresses.
func (x *expandableSegment) reserve(op string) (err error) {
	if x.base, err = x.memory.ReserveAddress(x.device.id, x.size()); err != nil {
		return fmt.Errorf("reserving %d bytes of addresses: %w", x.size(), err)
	}
	return checkRange(op, spec.Range{Ptr: x.base, Bytes: x.size()}, x.device.geometry.MinBlock)
}

// size is the length of the reserved range in bytes.
func (x *expandableSegment) size() uint64 { return uint64(x.maxHandles) * x.pageSize }

// span is a run of pages: the first, and the one after the last.
type span struct{ first, end int }

// covering is the run of pages that a range touches.
func (x *expandableSegment) covering(r spec.Range) span {
	return span{
		first: int(uint64(r.Ptr-x.base) / x.pageSize),
		end:   int((uint64(r.End()-x.base) + x.pageSize - 1) / x.pageSize),
	}
}

// within is the run of pages that lie wholly in a range. It may be empty.
func (x *expandableSegment) within(r spec.Range) span {
	return span{
		first: int((uint64(r.Ptr-x.base) + x.pageSize - 1) / x.pageSize),
		end:   int(uint64(r.End()-x.base) / x.pageSize),
	}
}

// bytes is the range that a run of pages covers.
func (x *expandableSegment) bytes(s span) spec.Range {
	return spec.Range{
		Ptr:   x.base + spec.Ptr(uint64(s.first)*x.pageSize),
		Bytes: uint64(s.end-s.first) * x.pageSize,
	}
}

// setAccess gives the device and its peers access to a mapped range.
func (x *expandableSegment) setAccess(r spec.Range) error {
	if err := x.setAccessOf(x.device.id, r); err != nil {
		return err
	}
	for _, peer := range x.peers {
		if err := x.setAccessOf(peer, r); err != nil {
			return err
		}
	}
	return nil
}

func (x *expandableSegment) setAccessOf(dev spec.Device, r spec.Range) error {
	if err := x.memory.SetAccess(r.Ptr, r.Bytes, dev); err != nil {
		return fmt.Errorf("giving device %d access to %v: %w", dev, r.Ptr, err)
	}
	return nil
}

// addPeer gives another device access to all pages, those that are mapped later included.
func (x *expandableSegment) addPeer(dev spec.Device) error {
	if slices.Contains(x.peers, dev) {
		return nil
	}
	for _, s := range x.mappedRuns() {
		if err := x.setAccessOf(dev, x.bytes(s)); err != nil {
			return err
		}
	}
	x.peers = append(x.peers, dev)
	return nil
}

// mappedRuns lists the runs of mapped pages.
func (x *expandableSegment) mappedRuns() []span {
	var runs []span
	for i := range x.pages {
		switch {
		case !x.pages[i].mapped:
		case i > 0 && x.pages[i-1].mapped:
			runs[len(runs)-1].end = i + 1
		default:
			runs = append(runs, span{i, i + 1})
		}
	}
	return runs
}

// release unmaps all pages and frees the reserved range. After a failure it can be
// called again: what is unmapped stays unmapped.
func (x *expandableSegment) release() error {
	for _, s := range x.mappedRuns() {
		if err := x.unmap(x.bytes(s)); err != nil {
			return err
		}
	}
	return x.freeAddress()
}

// freeAddress frees the reserved range. No page is mapped in it.
func (x *expandableSegment) freeAddress() error {
	if err := x.memory.FreeAddress(x.base, x.size()); err != nil {
		return fmt.Errorf("giving back the addresses from %v: %w", x.base, err)
	}
	return nil
}
