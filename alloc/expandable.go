package alloc

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Expandable segments. A plain segment has the size it was born with, and what is
// free at its end is lost to every request that is a little larger. An expandable
// segment is a reserved range of addresses, a little larger than the device's
// memory, into which pages of physical memory are mapped as they are needed, and
// out of which free pages can be taken, from anywhere.
//
//	base                                                            end
//	| block | free | block |  unmapped  | free | block |   unmapped   |
//	|<------- pages ------>|            |<-- pages --->|
//
// Blocks and unmapped ranges together cover the reserved range; they are all
// blocks to the code. Pages are of one size in a segment: SmallBuffer in a small
// pool, the large segment size in a large one. This file has the range, and who may
// use it; pages.go how pages come into it and leave it; mapping.go what the allocator
// does with it.

// An expandable is the growing kind of a segment: which of its pages have memory.
type expandable struct {
	device   *device
	memory   spec.VirtualMemory
	base     spec.Ptr
	stream   spec.Stream
	shared   bool   // the pages are another process's; any stream may use them
	pageSize uint64 // bytes
	kind     spec.PoolKind
	pages    []page        // by position; not mapped beyond the end of the list
	capacity int           // how many pages the range can take
	peers    []spec.Device // who else may use the memory
	mapped   uint64        // bytes
	closed   int           // how many of the pages are closed
}

// page is the physical memory behind one page's worth of addresses.
type page struct {
	handle   spec.PageHandle
	mapped   bool
	closed   bool   // mapped, but nobody has been given access; see pages.go
	exported []byte // the handle for other processes, once there is one
}

// reserveSegment reserves a range for 9/8 of the device's memory: pages taken out
// below can come back at the end.
func (d *device) reserveSegment(stream spec.Stream, kind spec.PoolKind) (*expandable, error) {
	memory, ok := d.driver.(spec.VirtualMemory)
	if !ok {
		return nil, &spec.NotSupportedError{Op: "malloc", Reason: "expandable segments are on, and the driver has no virtual memory"}
	}
	x := &expandable{
		device: d, memory: memory, stream: stream, kind: kind,
		pageSize: d.geometry.SmallBuffer, peers: slices.Clone(d.peers),
	}
	if kind == spec.LargePool {
		x.pageSize = d.cfg.LargeSegmentSize
	}
	x.capacity = int((d.totalMemory + d.totalMemory/8 + x.pageSize - 1) / x.pageSize)
	base, err := memory.ReserveAddress(d.id, x.size())
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of addresses: %w", x.size(), err)
	}
	x.base = base
	return x, nil
}

// size is the length of the reserved range in bytes.
func (x *expandable) size() uint64 { return uint64(x.capacity) * x.pageSize }

// span is a run of pages: first, and the one behind the last.
type span struct{ first, end int }

// covering is the run of pages that a range touches.
func (x *expandable) covering(r spec.Range) span {
	return span{
		first: int(uint64(r.Ptr-x.base) / x.pageSize),
		end:   int((uint64(r.End()-x.base) + x.pageSize - 1) / x.pageSize),
	}
}

// within is the run of pages that lie wholly in a range; it may be empty.
func (x *expandable) within(r spec.Range) span {
	return span{
		first: int((uint64(r.Ptr-x.base) + x.pageSize - 1) / x.pageSize),
		end:   int(uint64(r.End()-x.base) / x.pageSize),
	}
}

// bytes is the range that a run of pages covers.
func (x *expandable) bytes(s span) spec.Range {
	return spec.Range{
		Ptr:   x.base + spec.Ptr(uint64(s.first)*x.pageSize),
		Bytes: uint64(s.end-s.first) * x.pageSize,
	}
}

// grantAccess opens a mapped range to the owner and its peers.
func (x *expandable) grantAccess(r spec.Range) error {
	if err := x.setAccess(r, x.device.id); err != nil {
		return err
	}
	for _, peer := range x.peers {
		if err := x.setAccess(r, peer); err != nil {
			return err
		}
	}
	return nil
}

func (x *expandable) setAccess(r spec.Range, dev spec.Device) error {
	if err := x.memory.SetAccess(r.Ptr, r.Bytes, dev); err != nil {
		return fmt.Errorf("giving device %d access to %v: %w", dev, r.Ptr, err)
	}
	return nil
}

// addPeer opens everything that is mapped, and will be, to another device.
func (x *expandable) addPeer(dev spec.Device) error {
	if slices.Contains(x.peers, dev) {
		return nil
	}
	for _, s := range x.mappedRuns() {
		if err := x.setAccess(x.bytes(s), dev); err != nil {
			return err
		}
	}
	x.peers = append(x.peers, dev)
	return nil
}

// mappedRuns lists the runs of pages that have memory.
func (x *expandable) mappedRuns() []span {
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

// giveUp takes all pages out and gives the range back. What is gone before a failure
// is not tried again the next time.
func (x *expandable) giveUp() error {
	for _, s := range x.mappedRuns() {
		if _, err := x.shrink(x.bytes(s)); err != nil {
			return err
		}
	}
	return x.abandon()
}

// abandon gives the reserved range back. Nothing is mapped in it.
func (x *expandable) abandon() error {
	if err := x.memory.FreeAddress(x.base, x.size()); err != nil {
		return fmt.Errorf("giving back the addresses from %v: %w", x.base, err)
	}
	return nil
}
