package alloc

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// Memory shared between processes. A handle is made for a block, but what is shared is
// the whole segment, or, of an expandable segment, the pages that the block touches:
//
//	version (1 byte) 'c' driver's handle of the segment
//	version (1 byte) 'e' process id, page size, number of pages (8 bytes each,
//	                     little endian), then the driver's handle of each page
//
// Pages are shared as fabric handles, of 64 bytes each, or as file descriptors;
// the length tells the receiver which. A page is exported once: handles of two blocks in
// the same pages have the same handle for each page.
//
// The receiver opens each handle once, for any number of blocks, and closes it when the
// last user closes its OpenedMemory.

const (
	handleVersion     = 2
	handleSegment     = 'c'
	handlePages       = 'e'
	pagesHeader       = 3 * 8
	rawHandleLength   = 64 // a driver's handle without version, as older versions send it
	maxSharedPages    = 1 << 20
	fabricHandleBytes = 64
)

// ShareHandle makes a handle for an allocated pointer; see spec.SharedMemory.
func (a *Allocator) ShareHandle(p spec.Ptr) (spec.SharedHandle, error) {
	const op = "share_handle"
	sharing, err := a.sharing(op)
	if err != nil {
		return spec.SharedHandle{}, err
	}
	d := a.deviceOf(p)
	if d == nil {
		return spec.SharedHandle{}, &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	d.mu.Lock()
	defer d.unlock()
	b := d.allocatedBlocks.findLocked(p)
	if b == nil {
		return spec.SharedHandle{}, &spec.InvalidPointerError{Op: op, Ptr: p}
	}
	if b.isExpandable() {
		return b.segment.expandable.shareHandleLocked(sharing, spec.Range{Ptr: b.ptr, Bytes: b.size})
	}
	handle, err := sharing.ShareMemory(d.id, b.segment.base)
	if err != nil {
		return spec.SharedHandle{}, fmt.Errorf("sharing the segment at %v: %w", b.segment.base, err)
	}
	return spec.SharedHandle{
		Handle: append([]byte{handleVersion, handleSegment}, handle...),
		Offset: uint64(b.ptr - b.segment.base),
	}, nil
}

func (a *Allocator) sharing(op string) (spec.MemorySharing, error) {
	sharing, ok := a.driver.(spec.MemorySharing)
	if !ok {
		const reason = "the driver cannot share memory between processes"
		return nil, &spec.NotSupportedError{Op: op, Reason: reason}
	}
	return sharing, nil
}

// shareHandleLocked makes a handle for the pages that a range touches.
func (x *expandableSegment) shareHandleLocked(
	sharing spec.MemorySharing, r spec.Range,
) (spec.SharedHandle, error) {
	s := x.covering(r)
	handle := []byte{handleVersion, handlePages}
	for _, n := range [...]uint64{sharing.ProcessID(), x.pageSize, uint64(s.end - s.first)} {
		handle = binary.LittleEndian.AppendUint64(handle, n)
	}
	for i := s.first; i < s.end; i++ {
		p := &x.pages[i]
		if p.exported == nil {
			exported, err := sharing.ExportPage(p.handle, *x.device.handleType)
			if err != nil {
				return spec.SharedHandle{}, fmt.Errorf("exporting the page at %v: %w", x.bytes(span{i, i + 1}).Ptr, err)
			}
			p.exported = exported
		}
		handle = append(handle, p.exported...)
	}
	return spec.SharedHandle{Handle: handle, Offset: uint64(r.Ptr - x.bytes(s).Ptr)}, nil
}

// openedHandles are the handles of other processes that are open in this one. mu guards
// the handles as well, their pages included.
type openedHandles struct {
	mu   sync.Mutex
	open map[openedKey]*openedHandle
}

type openedKey struct {
	deviceID spec.Device
	handle   string
}

// openedHandle is an open handle, with the memory that was opened.
type openedHandle struct {
	allocator *Allocator
	key       openedKey
	users     int
	base      spec.Ptr
	pages     *expandableSegment // nil for a handle of a segment
}

// openedMemory is one user of an openedHandle (spec.OpenedMemory).
type openedMemory struct {
	handle *openedHandle
	closed bool // guarded by openedHandles.mu
}

// OpenHandle makes memory of another process accessible; see spec.SharedMemory.
func (a *Allocator) OpenHandle(dev spec.Device, handle []byte) (spec.OpenedMemory, error) {
	const op = "open_handle"
	d, err := a.device(op, dev)
	if err != nil {
		return nil, err
	}
	sharing, err := a.sharing(op)
	if err != nil {
		return nil, err
	}
	a.opened.mu.Lock()
	defer a.opened.mu.Unlock()
	key := openedKey{dev, string(handle)}
	h := a.opened.open[key]
	if h == nil {
		if h, err = d.openHandle(sharing, handle); err != nil {
			return nil, err
		}
		h.allocator, h.key = a, key
		if a.opened.open == nil {
			a.opened.open = map[openedKey]*openedHandle{}
		}
		a.opened.open[key] = h
	}
	h.users++
	return &openedMemory{handle: h}, nil
}

// openHandle decodes a handle and opens the memory. It takes the device's mutex in
// importPages.
func (d *device) openHandle(sharing spec.MemorySharing, handle []byte) (*openedHandle, error) {
	bad := func(reason string) error { return &spec.InvalidArgumentError{Op: "open_handle", Reason: reason} }
	kind, payload := byte(handleSegment), handle
	if len(handle) != rawHandleLength {
		if len(handle) < 2 {
			return nil, bad(fmt.Sprintf("the handle is truncated: it has %d bytes", len(handle)))
		}
		if handle[0] > handleVersion {
			reason := fmt.Sprintf("the handle has version %d, the newest known version is %d", handle[0], handleVersion)
			return nil, &spec.NotSupportedError{Op: "open_handle", Reason: reason}
		}
		kind, payload = handle[1], handle[2:]
	}
	switch kind {
	case handleSegment:
		base, err := sharing.OpenMemory(d.id, payload)
		if err != nil {
			return nil, fmt.Errorf("opening another process's segment: %w", err)
		}
		if err := checkRange("open_handle", spec.Range{Ptr: base}, d.driverAlignment()); err != nil {
			return nil, err
		}
		return &openedHandle{base: base}, nil
	case handlePages:
		x, err := d.importPages(sharing, payload)
		if err != nil {
			return nil, err
		}
		return &openedHandle{base: x.base, pages: x}, nil
	}
	return nil, bad(fmt.Sprintf("the handle is of an unknown kind %q", kind))
}

// importPages maps another process's pages into a range of their own. It takes the
// device's mutex to read which devices have peer access.
func (d *device) importPages(
	sharing spec.MemorySharing, payload []byte,
) (*expandableSegment, error) {
	memory, ok := d.driver.(spec.VirtualMemory)
	if !ok {
		const reason = "the driver has no virtual memory"
		return nil, &spec.NotSupportedError{Op: "open_handle", Reason: reason}
	}
	h, err := d.decodePages(payload)
	if err != nil {
		return nil, err
	}
	x := &expandableSegment{device: d, memory: memory, pageSize: h.pageSize, maxHandles: len(h.pages), imported: true}
	pages, err := x.importEach(sharing, h)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	x.peers = append(x.peers, d.devicesWithPeerAccess...)
	d.unlock()
	if err := x.reserveFor(pages); err != nil {
		return nil, err
	}
	return x, x.mapImported(pages)
}

// pagesHandle is a handle of pages, taken apart.
type pagesHandle struct {
	pid      uint64
	pageSize uint64 // bytes
	share    spec.ShareType
	pages    [][]byte // the driver's handle of each page
}

// decodePages takes a handle of pages apart, without its version and kind.
func (d *device) decodePages(payload []byte) (pagesHandle, error) {
	bad := func(reason string) (pagesHandle, error) {
		return pagesHandle{}, &spec.InvalidArgumentError{Op: "open_handle", Reason: reason}
	}
	if len(payload) < pagesHeader {
		return bad("the handle is truncated within its header")
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(payload[8*i:]) }
	h, n := pagesHandle{pid: word(0), pageSize: word(1), share: spec.SharePOSIX}, word(2)
	payload = payload[pagesHeader:]
	if n == 0 || n > maxSharedPages || h.pageSize == 0 || h.pageSize > d.totalMemory {
		return bad(fmt.Sprintf("the handle has %d pages of %d bytes", n, h.pageSize))
	}
	if len(payload) == 0 || uint64(len(payload))%n != 0 {
		return bad(fmt.Sprintf("the handle is truncated: %d bytes for %d pages", len(payload), n))
	}
	each := len(payload) / int(n)
	if each == fabricHandleBytes {
		h.share = spec.ShareFabric
	}
	h.pages = slices.Collect(slices.Chunk(payload, each))
	return h, nil
}

// importEach imports the pages. If one cannot be imported, those before it are released.
func (x *expandableSegment) importEach(
	sharing spec.MemorySharing, h pagesHandle,
) ([]spec.PageHandle, error) {
	var handles []spec.PageHandle
	defer func() { x.device.unreleasedPages.keep(handles) }() // none, unless the driver panics
	for i, raw := range h.pages {
		page, err := sharing.ImportPage(h.pid, h.share, raw)
		if err != nil {
			imported := handles
			handles = nil
			err = fmt.Errorf("importing page %d of %d of process %d: %w", i+1, len(h.pages), h.pid, err)
			return nil, afterCleanup(err, x.device.unreleasedPages.release(x.memory, imported))
		}
		handles = append(handles, page)
	}
	imported := handles
	handles = nil
	return imported, nil
}

// reserveFor reserves the addresses. If that fails the pages are released.
func (x *expandableSegment) reserveFor(pages []spec.PageHandle) error {
	handles := pages
	defer func() { x.device.unreleasedPages.keep(handles) }() // none, unless the driver panics
	err := x.reserve("open_handle")
	handles = nil
	if err != nil {
		err = afterCleanup(err, x.device.unreleasedPages.release(x.memory, pages))
	}
	return err
}

// mapImported maps the pages. If that fails the range is freed, as soon as that is possible:
// the driver may refuse to unmap a page as well.
func (x *expandableSegment) mapImported(pages []spec.PageHandle) error {
	var err error
	keep := func() { x.device.unreleasedPages.keepRange(x) }
	_ = unlessDone(keep, func() error {
		if _, err = x.mapPages(0, pages); err == nil || x.mappedSize > 0 {
			return err
		}
		failure := x.freeAddress()
		err = afterCleanup(err, failure)
		return failure
	})
	return err
}

// Base is the address of the memory in this process.
func (m *openedMemory) Base() spec.Ptr { return m.handle.base }

// Close ends the use by this OpenedMemory. The last Close closes the handle. Closing twice is
// an InvalidStateError.
func (m *openedMemory) Close() error {
	a := m.handle.allocator
	a.opened.mu.Lock()
	defer a.opened.mu.Unlock()
	if m.closed {
		return &spec.InvalidStateError{Op: "close_handle", Reason: "the memory is closed already"}
	}
	if m.handle.users == 1 {
		if err := m.handle.close(); err != nil {
			return err
		}
		delete(a.opened.open, m.handle.key)
	}
	m.handle.users--
	m.closed = true
	return nil
}

// close closes the memory.
func (h *openedHandle) close() error {
	if h.pages == nil {
		sharing, err := h.allocator.sharing("close_handle")
		if err == nil {
			err = sharing.CloseMemory(h.key.deviceID, h.base)
		}
		return err
	}
	if h.allocator.driver.FreeForbidden() {
		const reason = "memory cannot be unmapped during the present capture"
		return &spec.InvalidStateError{Op: "close_handle", Reason: reason}
	}
	return h.pages.release()
}

// addPeer gives another device access to the pages that were imported on a device, in
// order of address.
func (o *openedHandles) addPeer(dev, on spec.Device) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	byBase := slices.SortedFunc(maps.Values(o.open), func(h, g *openedHandle) int { return cmp.Compare(h.base, g.base) })
	for _, h := range byBase {
		if h.key.deviceID == on && h.pages != nil {
			if err := h.pages.addPeer(dev); err != nil {
				return err
			}
		}
	}
	return nil
}
