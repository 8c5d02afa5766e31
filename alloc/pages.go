package alloc

import (
	"errors"
	"fmt"

	"gaugeblock/spec"
)

// How pages come into an expandable segment and leave it. Each takes several calls of
// the driver, of which any can fail, and whatever fails, the books must say what the
// driver has given.
//
//	in     create the pages, map each, give access to all of them
//	out    wait for the stream; then, page by page, unmap and release
//
// What fails on the way in is undone: all pages come, or none. But undoing can be
// impossible: a capture forbids to unmap, or the driver refuses. Then the pages stay,
// in the books as what they are: mapped, and closed, since nobody was given access to
// them. Their memory is free, and opened when it is given out (open).
//
// What fails on the way out leaves the page as it was, mapped and open, if it must be
// by mapping it again.

// grow puts memory behind the pages that a range touches, none of which has any, and
// returns the range that has memory then, which may be longer. With an error
// (spec.ErrDriverOutOfMemory says that the device has no more) that is nothing, or
// what could not be undone.
func (x *expandable) grow(r spec.Range) (spec.Range, error) {
	s := x.covering(r)
	handles, err := x.createPages(s.end - s.first)
	if err == nil {
		return x.mapPages(s.first, handles)
	}
	stuck, refusal := releasePages(x.memory, handles)
	grown, failure := x.mapPages(s.first, stuck)
	return grown, afterCleanup(err, errors.Join(refusal, failure))
}

// createPages obtains physical memory for so many pages. With an error it returns
// those that it got. The first page ever created decides how pages are shared: fabric
// handles if the device has them, else file descriptors. Being out of memory decides
// nothing.
func (x *expandable) createPages(n int) ([]spec.PageHandle, error) {
	var handles []spec.PageHandle
	for len(handles) < n {
		h, err := x.device.createPage(x.memory, x.pageSize)
		if err != nil {
			return handles, fmt.Errorf("creating a page of %d bytes: %w", x.pageSize, err)
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

// releasePages gives up pages that are not mapped, and returns those that the driver
// does not take back.
func releasePages(memory spec.VirtualMemory, handles []spec.PageHandle) (stuck []spec.PageHandle, failure error) {
	for _, h := range handles {
		if err := memory.ReleasePage(h); err != nil {
			stuck = append(stuck, h)
			failure = errors.Join(failure, fmt.Errorf("releasing a page: %w", err))
		}
	}
	return stuck, failure
}

// mapPages puts pages behind consecutive places, opens them to the owner and its
// peers, and writes them into the books. It returns the range that has memory then:
// all of it, or with an error what could not be undone.
func (x *expandable) mapPages(first int, handles []spec.PageHandle) (spec.Range, error) {
	n, err := x.mapEach(first, handles)
	if err == nil && n > 0 {
		err = x.grantAccess(x.bytes(span{first, first + n}))
	}
	if err != nil {
		var failure error
		n, failure = x.unmapAgain(first, n)
		err = afterCleanup(err, errors.Join(failure, x.device.unreleased.release(x.memory, handles[n:])))
	}
	return x.adopt(first, handles[:n], err != nil), err
}

// mapEach maps pages, up to the first that cannot be, and returns how many are mapped.
func (x *expandable) mapEach(first int, handles []spec.PageHandle) (int, error) {
	for i, h := range handles {
		at := x.bytes(span{first + i, first + i + 1})
		if err := x.memory.MapPage(at.Ptr, at.Bytes, h); err != nil {
			return i, fmt.Errorf("mapping a page at %v: %w", at.Ptr, err)
		}
	}
	return len(handles), nil
}

// unmapAgain takes back n mappings, the last first, and returns how many stay.
func (x *expandable) unmapAgain(first, n int) (int, error) {
	if x.device.driver.FreeForbidden() {
		return n, nil
	}
	for ; n > 0; n-- {
		at := x.bytes(span{first + n - 1, first + n})
		if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
			return n, fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
		}
	}
	return 0, nil
}

// adopt writes pages that are mapped into the books, and returns their range.
func (x *expandable) adopt(first int, handles []spec.PageHandle, closed bool) spec.Range {
	s := span{first, first + len(handles)}
	if len(handles) == 0 {
		return x.bytes(s)
	}
	for len(x.pages) < s.end {
		x.pages = append(x.pages, page{})
	}
	for i, h := range handles {
		x.pages[first+i] = page{handle: h, mapped: true, closed: closed}
	}
	if closed {
		x.closed += len(handles)
	}
	x.mapped += x.bytes(s).Bytes
	return x.bytes(s)
}

// open gives access to those pages of a range that are closed.
func (x *expandable) open(r spec.Range) error {
	if x.closed == 0 {
		return nil
	}
	s := x.covering(r)
	for i := s.first; i < s.end; i++ {
		if !x.pages[i].closed {
			continue
		}
		if err := x.grantAccess(x.bytes(span{i, i + 1})); err != nil {
			return err
		}
		x.pages[i].closed = false
		x.closed--
	}
	return nil
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
	return x.bytes(done), failure
}

// synchronize waits for the work that may touch the memory.
func (x *expandable) synchronize() error {
	if x.shared {
		return x.device.driver.SynchronizeDevice(x.device.id)
	}
	return x.device.driver.SynchronizeStream(x.device.id, x.stream)
}

// dropPage unmaps one page and gives its memory up, and reports whether the page is
// gone. One that the driver does not take back is mapped again.
func (x *expandable) dropPage(i int) (gone bool, err error) {
	at := x.bytes(span{i, i + 1})
	if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
		return false, fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
	}
	dropped := x.pages[i]
	x.pages[i] = page{}
	x.mapped -= at.Bytes
	if dropped.closed {
		x.closed--
	}
	err = x.memory.ReleasePage(dropped.handle)
	if err == nil {
		return true, nil
	}
	err = fmt.Errorf("releasing the page at %v: %w", at.Ptr, err)
	again, failure := x.mapPages(i, []spec.PageHandle{dropped.handle})
	return again.Bytes == 0, errors.Join(err, failure)
}
