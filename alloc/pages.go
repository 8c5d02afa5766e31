package alloc

import (
	"errors"
	"fmt"
	"slices"
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
// Their memory is free. A malloc or a restore that allocates it gives access first (giveAccess).
//
// If a call to unmap fails, the page stays mapped and accessible. If it is unmapped but
// cannot be released, it is mapped again.

// mapLocked maps the pages that a range touches, none of which is mapped, and may map more.
// With an error (spec.ErrDriverOutOfMemory: the device has no more) none is mapped, or
// what could not be undone: see mappedRun.
func (x *expandableSegment) mapLocked(r spec.Range) error {
	s := x.covering(r)
	handles, err := x.createPagesLocked(s.end - s.first)
	if err == nil {
		_, err := x.mapPages(s.first, handles)
		return err
	}
	unreleased, refusal := releasePages(x.memory, handles, x.device.unreleasedPages.keep)
	if _, failure := x.mapPages(s.first, unreleased); failure != nil {
		refusal = fmt.Errorf("%w; %v", refusal, failure) // with %v, so that it is not out of memory, whatever the failure is
	}
	return afterCleanup(err, refusal)
}

// createPagesLocked creates n pages. With an error it returns those that it created.
func (x *expandableSegment) createPagesLocked(n int) (handles []spec.PageHandle, err error) {
	unlessReturned(func() { x.device.unreleasedPages.keep(handles) }, func() {
		for len(handles) < n && err == nil {
			var h spec.PageHandle
			if h, err = x.device.createPageLocked(x.memory, x.pageSize); err == nil {
				handles = append(handles, h)
			}
		}
	})
	if err != nil {
		err = fmt.Errorf("creating a page of %d bytes: %w", x.pageSize, err)
	}
	return handles, err
}

// createPageLocked creates a page. The first page ever created on the device decides how
// its pages are shared: with fabric handles if such a page can be created, else as file
// descriptors. A page that cannot be created for lack of memory does not decide it. (Upstream lets
// it decide, and can then create no page at all: pytorch/pytorch#156074.) With FabricByQuery the
// driver is asked instead.
func (d *device) createPageLocked(
	memory spec.VirtualMemory, bytes uint64,
) (spec.PageHandle, error) {
	if d.handleType != nil {
		return memory.CreatePage(d.id, bytes, *d.handleType)
	}
	fabric, posix := spec.ShareFabric, spec.SharePOSIX
	if d.rules.FabricByQuery {
		access, err := d.fabricAccess()
		if err != nil {
			return 0, err
		}
		d.handleType = &posix
		if access {
			d.handleType = &fabric
		}
		return memory.CreatePage(d.id, bytes, *d.handleType)
	}
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

// fabricAccess asks the driver whether pages can have fabric handles. One that cannot tell has
// none.
func (d *device) fabricAccess() (bool, error) {
	asker, ok := d.driver.(spec.FabricAsker)
	if !ok {
		return false, nil
	}
	access, err := asker.FabricAccess(d.id)
	if err != nil {
		return false, fmt.Errorf("asking whether pages can have fabric handles: %w", err)
	}
	return access, nil
}

// releasePages releases pages that are not mapped. It returns those whose release failed. If
// the driver panics, keep gets all that may not have been released.
func releasePages(
	memory spec.VirtualMemory, handles []spec.PageHandle, keep func([]spec.PageHandle),
) (unreleased []spec.PageHandle, failure error) {
	left := handles
	defer func() {
		if len(left) > 0 {
			keep(slices.Concat(unreleased, left))
		}
	}()
	for len(left) > 0 {
		if err := memory.ReleasePage(left[0]); err != nil {
			unreleased = append(unreleased, left[0])
			failure = errors.Join(failure, fmt.Errorf("releasing a page: %w", err))
		}
		left = left[1:]
	}
	return unreleased, failure
}

// mapPages maps pages at consecutive positions and gives the device and its peers access.
// It returns how many are mapped then: all, or with an error those that could not be
// unmapped again. A page is added when it is mapped, so that x.pages is right whenever the
// driver panics; pages that are not mapped then are kept as unreleased.
func (x *expandableSegment) mapPages(first int, handles []spec.PageHandle) (n int, err error) {
	left := handles // created and not mapped
	defer func() { x.device.unreleasedPages.keep(left) }()
	for n < len(handles) && err == nil {
		at := x.bytes(span{first + n, first + n + 1})
		if err = x.memory.MapPage(at.Ptr, at.Bytes, handles[n]); err != nil {
			err = fmt.Errorf("mapping a page at %v: %w", at.Ptr, err)
			break
		}
		x.addPage(first+n, handles[n])
		n++
		left = handles[n:]
	}
	mapped := span{first, first + n}
	if err == nil && n > 0 {
		err = x.setAccess(x.bytes(mapped))
	}
	if err == nil {
		x.markAccessible(mapped)
		return n, nil
	}
	failure := x.undoMapping(first, handles, &n, &left)
	unmapped := left
	left = nil
	return n, afterCleanup(err, errors.Join(failure, x.device.unreleasedPages.release(x.memory, unmapped)))
}

// undoMapping unmaps the first n pages again, the last first, and counts n down. left are the
// pages that are not mapped.
func (x *expandableSegment) undoMapping(
	first int, handles []spec.PageHandle, n *int, left *[]spec.PageHandle,
) error {
	if x.device.driver.FreeForbidden() {
		return nil
	}
	for *n > 0 {
		at := x.bytes(span{first + *n - 1, first + *n})
		if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
			return fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
		}
		*n--
		x.removePage(first + *n)
		*left = handles[*n:]
	}
	return nil
}

// addPage adds a mapped page to the segment, to which no device has access yet.
func (x *expandableSegment) addPage(i int, h spec.PageHandle) {
	for len(x.pages) <= i {
		x.pages = append(x.pages, page{})
	}
	x.pages[i] = page{handle: h, mapped: true, inaccessible: true}
	x.inaccessible++
	x.mappedSize += x.pageSize
}

// removePage removes a page that is not mapped any more.
func (x *expandableSegment) removePage(i int) {
	if x.pages[i].inaccessible {
		x.inaccessible--
	}
	x.pages[i] = page{}
	x.mappedSize -= x.pageSize
	for len(x.pages) > 0 && !x.pages[len(x.pages)-1].mapped {
		x.pages = x.pages[:len(x.pages)-1]
	}
}

func (x *expandableSegment) markAccessible(s span) {
	for i := s.first; i < s.end; i++ {
		if x.pages[i].inaccessible {
			x.pages[i].inaccessible = false
			x.inaccessible--
		}
	}
}

// mappedRun is the range of the mapped pages from the first on that r touches, and
// unmappedRun that of the unmapped pages from the first on that lies wholly in r.
func (x *expandableSegment) mappedRun(r spec.Range) spec.Range { return x.run(x.covering(r), true) }

func (x *expandableSegment) unmappedRun(r spec.Range) spec.Range { return x.run(x.within(r), false) }

func (x *expandableSegment) run(s span, mapped bool) spec.Range {
	end := s.first
	for end < s.end && (end < len(x.pages) && x.pages[end].mapped) == mapped {
		end++
	}
	return x.bytes(span{s.first, end})
}

// giveAccess gives access to the inaccessible pages of a range.
func (x *expandableSegment) giveAccess(r spec.Range) error {
	s := x.covering(r)
	for i := s.first; i < s.end; i++ {
		if !x.pages[i].inaccessible {
			continue
		}
		if err := x.setAccess(x.bytes(span{i, i + 1})); err != nil {
			return err
		}
		x.markAccessible(span{i, i + 1})
	}
	return nil
}

// unmap unmaps and releases the pages that lie wholly in a range of free memory, after
// synchronizing the stream, whose work may still use them. If a driver call fails, there is
// an error, and the pages from that one on stay mapped: see unmappedRun.
func (x *expandableSegment) unmap(r spec.Range) error {
	s := x.within(r)
	if s.first >= s.end {
		return nil
	}
	if err := x.synchronize(); err != nil {
		return fmt.Errorf("waiting for work before unmapping: %w", err)
	}
	for i := s.first; i < s.end; i++ {
		if err := x.unmapPage(i); err != nil {
			return err
		}
	}
	return nil
}

// synchronize waits for the work that may touch the memory.
func (x *expandableSegment) synchronize() error {
	if x.imported {
		return x.device.driver.SynchronizeDevice(x.device.id)
	}
	return x.device.driver.SynchronizeStream(x.device.id, x.stream)
}

// unmapPage unmaps one page and releases it. A page whose release failed is mapped again.
func (x *expandableSegment) unmapPage(i int) error {
	at := x.bytes(span{i, i + 1})
	if err := x.memory.UnmapPage(at.Ptr, at.Bytes); err != nil {
		return fmt.Errorf("unmapping the page at %v: %w", at.Ptr, err)
	}
	handles := []spec.PageHandle{x.pages[i].handle}
	x.removePage(i)
	var err error
	unlessReturned(func() { x.device.unreleasedPages.keep(handles) }, func() {
		err = x.memory.ReleasePage(handles[0])
	})
	if err == nil {
		return nil
	}
	_, failure := x.mapPages(i, handles)
	return errors.Join(fmt.Errorf("releasing the page at %v: %w", at.Ptr, err), failure)
}

// unreleasedPages are pages that are neither mapped nor released, because the driver calls
// for both have failed. They count in no statistic. Each release of the cache tries to
// release them again. They have a mutex of their own, since opened handles use them as well.
//
// ranges are ranges for pages of other processes whose mapping has failed, and could not be
// undone.
type unreleasedPages struct {
	mu     sync.Mutex
	pages  []spec.PageHandle
	ranges []*expandableSegment
}

// keep adds pages without a call of the driver.
func (u *unreleasedPages) keep(pages []spec.PageHandle) {
	if len(pages) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.keepLocked(pages)
}

func (u *unreleasedPages) keepLocked(pages []spec.PageHandle) { u.pages = append(u.pages, pages...) }

// release releases pages, and keeps those whose release failed.
func (u *unreleasedPages) release(
	memory spec.VirtualMemory, pages []spec.PageHandle,
) (failure error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tryLocked(memory, pages)
}

// keepRange adds a range in which pages may be mapped.
func (u *unreleasedPages) keepRange(x *expandableSegment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ranges = append(u.ranges, x)
}

// releaseAgain tries to release the kept ranges and pages.
func (u *unreleasedPages) releaseAgain(driver spec.Driver) error {
	for x := u.takeRange(); x != nil; x = u.takeRange() {
		if err := u.releaseRange(x); err != nil {
			return err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pages) == 0 {
		return nil
	}
	pages := u.pages
	u.pages = nil
	return u.tryLocked(driver.(spec.VirtualMemory), pages)
}

func (u *unreleasedPages) takeRange() (x *expandableSegment) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := len(u.ranges); n > 0 {
		x, u.ranges = u.ranges[n-1], u.ranges[:n-1]
	}
	return x
}

func (u *unreleasedPages) releaseRange(x *expandableSegment) error {
	return unlessDone(func() { u.keepRange(x) }, x.release)
}

func (u *unreleasedPages) tryLocked(memory spec.VirtualMemory, pages []spec.PageHandle) error {
	unreleased, failure := releasePages(memory, pages, func(left []spec.PageHandle) { u.keepLocked(left) })
	u.keepLocked(unreleased)
	return failure
}

// afterCleanup is err, with the error of the calls that were to undo what had failed, or nil.
func afterCleanup(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return fmt.Errorf("%w; it was to undo what had failed: %v", cleanup, err)
}
