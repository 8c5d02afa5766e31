package alloc

import (
	"errors"
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// How pages are mapped into an expandable segment and unmapped. Both take several calls
// of the driver, and each can fail. After a failure, x.pages is still what the driver has
// mapped.
//
//	map      create the pages, map each, give access to all of them
//	unmap    synchronize the stream; then, page by page, unmap and release
//
// If one of the calls to map fails, those before it are undone: all pages are mapped, or
// none. But that can be impossible: a capture forbids to unmap, or the driver call fails.
// Then the pages stay mapped and count as inaccessible: access is not set for every device.
// Their memory is free. A malloc that allocates it gives access first (giveAccess).
//
// If a call to unmap fails, the page stays mapped and accessible. If it is unmapped but
// cannot be released, it is mapped again.

// mapLocked maps the pages that a range touches, none of which is mapped, and returns
// the range that is mapped then, which may be longer. With an error
// (spec.ErrDriverOutOfMemory: the device has no more) the range is empty, or
// what could not be undone.
func (x *expandableSegment) mapLocked(r spec.Range) (spec.Range, error) {
	s := x.covering(r)
	handles, err := x.createPagesLocked(s.end - s.first)
	if err == nil {
		return x.mapPages(s.first, handles)
	}
	unreleased, refusal := releasePages(x.memory, handles)
	mapped, failure := x.mapPages(s.first, unreleased)
	return mapped, afterCleanup(err, errors.Join(refusal, failure))
}

// createPagesLocked creates n pages. With an error it returns those that it created.
func (x *expandableSegment) createPagesLocked(n int) ([]spec.PageHandle, error) {
	var handles []spec.PageHandle
	for len(handles) < n {
		h, err := x.device.createPageLocked(x.memory, x.pageSize)
		if err != nil {
			return handles, fmt.Errorf("creating a page of %d bytes: %w", x.pageSize, err)
		}
		handles = append(handles, h)
	}
	return handles, nil
}

// createPageLocked creates a page. The first page ever created on the device decides how
// its pages are shared: with fabric handles if such a page can be created, else as file
// descriptors. A page that cannot be created for lack of memory does not decide it.
func (d *device) createPageLocked(memory spec.VirtualMemory, bytes uint64) (spec.PageHandle, error) {
	if d.handleType != nil {
		return memory.CreatePage(d.id, bytes, *d.handleType)
	}
	fabric, posix := spec.ShareFabric, spec.SharePOSIX
	h, err := memory.CreatePage(d.id, bytes, fabric)
	if err == nil {
		d.handleType = &fabric
		return h, nil
	}
	if errors.Is(err, spec.ErrDriverOutOfMemory) {
		return 0, err
	}
	h, err = memory.CreatePage(d.id, bytes, posix)
	if err == nil || errors.Is(err, spec.ErrDriverOutOfMemory) {
		d.handleType = &posix
	}
	return h, err
}

// releasePages releases pages that are not mapped. It returns those whose release failed.
func releasePages(memory spec.VirtualMemory, handles []spec.PageHandle) (unreleased []spec.PageHandle, failure error) {
	for _, h := range handles {
		if err := memory.ReleasePage(h); err != nil {
			unreleased = append(unreleased, h)
			failure = errors.Join(failure, fmt.Errorf("releasing a page: %w", err))
		}
	}
	return unreleased, failure
}

// mapPages maps pages at consecutive positions and gives the device and its peers access.
// It returns the range that is mapped then: all of it, or with an error what could not
// be undone.
func (x *expandableSegment) mapPages(first int, handles []spec.PageHandle) (spec.Range, error) {
	n, err := x.mapEach(first, handles)
	if err == nil && n > 0 {
		err = x.setAccess(x.bytes(span{first, first + n}))
	}
	if err != nil {
		var failure error
		n, failure = x.undoMapping(first, n)
		err = afterCleanup(err, errors.Join(failure, x.device.unreleasedPages.release(x.memory, handles[n:])))
	}
	return x.addPages(first, handles[:n], err != nil), err
}

// mapEach maps pages, up to the first that cannot be, and returns how many are mapped.
func (x *expandableSegment) mapEach(first int, handles []spec.PageHandle) (int, error) {
	for i, h := range handles {
		at := x.bytes(span{first + i, first + i + 1})
		if err := x.memory.MapPage(at.Ptr, at.Bytes, h); err != nil {
			return i, fmt.Errorf("mapping a page at %v: %w", at.Ptr, err)
		}
	}
	return len(handles), nil
}

// undoMapping undoes n mappings, the last first, and returns how many stay.
func (x *expandableSegment) undoMapping(first, n int) (int, error) {
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

// addPages adds mapped pages to the segment and returns their range.
func (x *expandableSegment) addPages(first int, handles []spec.PageHandle, inaccessible bool) spec.Range {
	s := span{first, first + len(handles)}
	if len(handles) == 0 {
		return x.bytes(s)
	}
	for len(x.pages) < s.end {
		x.pages = append(x.pages, page{})
	}
	for i, h := range handles {
		x.pages[first+i] = page{handle: h, mapped: true, inaccessible: inaccessible}
	}
	if inaccessible {
		x.inaccessible += len(handles)
	}
	x.mappedSize += x.bytes(s).Bytes
	return x.bytes(s)
}

// giveAccess gives access to the inaccessible pages of a range.
func (x *expandableSegment) giveAccess(r spec.Range) error {
	if x.inaccessible == 0 {
		return nil
	}
	s := x.covering(r)
	for i := s.first; i < s.end; i++ {
		if !x.pages[i].inaccessible {
			continue
		}
		if err := x.setAccess(x.bytes(span{i, i + 1})); err != nil {
			return err
		}
		x.pages[i].inaccessible = false
		x.inaccessible--
	}
	return nil
}

// unmap unmaps and releases the pages that lie wholly in a range of free memory, after
// synchronizing the stream, whose work may still use them. It returns the range that is
// unmapped, of 0 bytes if no page lies in the range. If a driver call fails, there is an
// error, and the range ends before that page.
func (x *expandableSegment) unmap(r spec.Range) (spec.Range, error) {
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
		var unmapped bool
		if unmapped, failure = x.unmapPage(done.end); unmapped {
			done.end++
		}
	}
	for len(x.pages) > 0 && !x.pages[len(x.pages)-1].mapped {
		x.pages = x.pages[:len(x.pages)-1]
	}
	return x.bytes(done), failure
}

// synchronize waits for the work that may touch the memory.
func (x *expandableSegment) synchronize() error {
	if x.imported {
		return x.device.driver.SynchronizeDevice(x.device.id)
	}
	return x.device.driver.SynchronizeStream(x.device.id, x.stream)
}

// unmapPage unmaps one page and releases it, and reports whether it is unmapped. A page
// whose release failed is mapped again.
func (x *expandableSegment) unmapPage(i int) (unmapped bool, err error) {
	at := x.bytes(span{i, i + 1})
	if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
		return false, fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
	}
	old := x.pages[i]
	x.pages[i] = page{}
	x.mappedSize -= at.Bytes
	if old.inaccessible {
		x.inaccessible--
	}
	err = x.memory.ReleasePage(old.handle)
	if err == nil {
		return true, nil
	}
	err = fmt.Errorf("releasing the page at %v: %w", at.Ptr, err)
	again, failure := x.mapPages(i, []spec.PageHandle{old.handle})
	return again.Bytes == 0, errors.Join(err, failure)
}

// unreleasedPages are pages that are neither mapped nor released, because the driver calls
// for both have failed. They count in no statistic. Each release of the cache tries to
// release them again. They have a mutex of their own, since opened handles use them as well.
type unreleasedPages struct {
	mu    sync.Mutex
	pages []spec.PageHandle
}

// release releases pages, and keeps those whose release failed.
func (u *unreleasedPages) release(memory spec.VirtualMemory, pages []spec.PageHandle) (failure error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tryLocked(memory, pages)
}

// releaseAgain tries to release the kept pages.
func (u *unreleasedPages) releaseAgain(driver spec.Driver) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pages) == 0 {
		return nil
	}
	pages := u.pages
	u.pages = nil
	return u.tryLocked(driver.(spec.VirtualMemory), pages)
}

func (u *unreleasedPages) tryLocked(memory spec.VirtualMemory, pages []spec.PageHandle) error {
	unreleased, failure := releasePages(memory, pages)
	u.pages = append(u.pages, unreleased...)
	return failure
}

// afterCleanup is err, with the error of the calls that were to undo what had failed, or nil.
func afterCleanup(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return fmt.Errorf("%w; it was to undo what had failed: %v", cleanup, err)
}
