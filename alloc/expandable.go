package alloc

import (
	"errors"
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
// pool, the large segment size in a large one. expandable is the range and its
// pages; mapping.go has what the allocator does with them.

// An expandable is the growing kind of a segment: which of its pages have memory.
type expandable struct {
	device   *device
	memory   spec.VirtualMemory
	base     spec.Ptr
	stream   spec.Stream
	shared   bool   // the pages are another process's; any stream may use them
	pageSize uint64 // bytes
	small    bool
	pages    []page        // by position; not mapped beyond the end of the list
	capacity int           // how many pages the range can take
	peers    []spec.Device // who else may use the memory
	mapped   uint64        // bytes
}

// page is the physical memory behind one page's worth of addresses.
type page struct {
	handle   spec.PageHandle
	mapped   bool
	exported []byte // the handle for other processes, once there is one
}

// reserveSegment reserves a range for 9/8 of the device's memory: pages taken out
// below can come back at the end.
func (d *device) reserveSegment(stream spec.Stream, small bool) (*expandable, error) {
	memory, ok := d.driver.(spec.VirtualMemory)
	if !ok {
		return nil, &spec.NotSupportedError{Op: "malloc", Reason: "expandable segments are on, and the driver has no virtual memory"}
	}
	x := &expandable{
		device: d, memory: memory, stream: stream, small: small,
		pageSize: d.geometry.SmallBuffer, peers: slices.Clone(d.peers),
	}
	if !small {
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

// grow puts memory behind the pages that a range touches, none of which has any.
// It returns the range that got memory, which may be longer. Either all of it is
// done or nothing; spec.ErrDriverOutOfMemory says that the device has no more.
func (x *expandable) grow(r spec.Range) (spec.Range, error) {
	s := x.covering(r)
	handles, err := x.createPages(s.end - s.first)
	if err != nil {
		return spec.Range{}, err
	}
	if err := x.mapPages(s, handles); err != nil {
		return spec.Range{}, afterCleanup(err, x.device.unreleased.release(x.memory, handles))
	}
	for len(x.pages) < s.end {
		x.pages = append(x.pages, page{})
	}
	for i, h := range handles {
		x.pages[s.first+i] = page{handle: h, mapped: true}
	}
	grown := x.bytes(s)
	x.mapped += grown.Bytes
	return grown, nil
}

// createPages obtains physical memory for so many pages, or none. The first page
// ever created decides how pages are shared: fabric handles if the device has
// them, else file descriptors. Being out of memory decides nothing.
func (x *expandable) createPages(n int) ([]spec.PageHandle, error) {
	var handles []spec.PageHandle
	for len(handles) < n {
		h, err := x.device.createPage(x.memory, x.pageSize)
		if err != nil {
			err = fmt.Errorf("creating a page of %d bytes: %w", x.pageSize, err)
			return nil, afterCleanup(err, x.device.unreleased.release(x.memory, handles))
		}
		handles = append(handles, h)
	}
	return handles, nil
}

func (d *device) createPage(memory spec.VirtualMemory, bytes uint64) (spec.PageHandle, error) {
	if d.shareType != nil {
		return memory.CreatePage(d.id, bytes, *d.shareType)
	}
	fabric, posix := spec.ShareFabric, spec.SharePOSIX
	h, err := memory.CreatePage(d.id, bytes, fabric)
	if err == nil {
		d.shareType = &fabric
		return h, nil
	}
	if errors.Is(err, spec.ErrDriverOutOfMemory) {
		return 0, err
	}
	h, err = memory.CreatePage(d.id, bytes, posix)
	if err == nil || errors.Is(err, spec.ErrDriverOutOfMemory) {
		d.shareType = &posix
	}
	return h, err
}

// mapPages maps pages and opens them to the owner and its peers, or leaves them
// unmapped.
func (x *expandable) mapPages(s span, handles []spec.PageHandle) error {
	for i, h := range handles {
		at := x.bytes(span{s.first + i, s.first + i + 1})
		if err := x.memory.MapPage(at.Ptr, at.Bytes, h); err != nil {
			return afterCleanup(fmt.Errorf("mapping a page at %v: %w", at.Ptr, err), x.unmapAgain(s, i))
		}
	}
	if err := x.grantAccess(x.bytes(s)); err != nil {
		return afterCleanup(err, x.unmapAgain(s, len(handles)))
	}
	return nil
}

// unmapAgain takes back the first n mappings of a run that could not be finished.
func (x *expandable) unmapAgain(s span, n int) (err error) {
	for i := range n {
		at := x.bytes(span{s.first + i, s.first + i + 1})
		err = errors.Join(err, x.memory.UnmapPage(at.Ptr, at.Bytes))
	}
	return err
}

// shrink takes the memory away from the pages that lie wholly in a range, which
// nobody has, after waiting for the stream, whose work may still touch them. It
// returns the range that lost memory, of 0 bytes if no page lies in it. A driver
// that refuses in the middle leaves a shorter range without memory, and the error.
func (x *expandable) shrink(r spec.Range) (spec.Range, error) {
	s := x.within(r)
	if s.first >= s.end {
		return spec.Range{Ptr: r.Ptr}, nil
	}
	if err := x.synchronize(); err != nil {
		return spec.Range{Ptr: r.Ptr}, fmt.Errorf("waiting for work before unmapping: %w", err)
	}
	done := span{s.first, s.first}
	var failure error
	for done.end < s.end && failure == nil {
		var gone bool
		if gone, failure = x.dropPage(done.end); gone {
			done.end++
		}
	}
	for len(x.pages) > 0 && !x.pages[len(x.pages)-1].mapped {
		x.pages = x.pages[:len(x.pages)-1]
	}
	lost := x.bytes(done)
	x.mapped -= lost.Bytes
	return lost, failure
}

// synchronize waits for the work that may touch the memory.
func (x *expandable) synchronize() error {
	if x.shared {
		return x.device.driver.SynchronizeDevice(x.device.id)
	}
	return x.device.driver.SynchronizeStream(x.device.id, x.stream)
}

// dropPage unmaps one page and gives its memory up, and reports whether the page is
// gone. If the driver does not take the memory, the page is mapped again. If even
// that fails the page is gone from the books, and its memory left for later.
func (x *expandable) dropPage(i int) (gone bool, err error) {
	s := span{i, i + 1}
	at := x.bytes(s)
	if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
		return false, fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
	}
	h := x.pages[i].handle
	if err := x.memory.ReleasePage(h); err != nil {
		err = fmt.Errorf("releasing the page at %v: %w", at.Ptr, err)
		again := x.mapPages(s, []spec.PageHandle{h})
		if again == nil {
			return false, err
		}
		x.device.unreleased.keep(h)
		x.pages[i] = page{}
		return true, errors.Join(err, again)
	}
	x.pages[i] = page{}
	return true, nil
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

// abandon gives the reserved range back. Nothing is mapped in it.
func (x *expandable) abandon() error {
	if err := x.memory.FreeAddress(x.base, x.size()); err != nil {
		return fmt.Errorf("giving back the addresses from %v: %w", x.base, err)
	}
	return nil
}
