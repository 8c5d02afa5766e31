package alloc

import (
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// unreleasedPages are pages that can be neither mapped nor released: the driver has
// refused both. They are in no figure. Whenever the cache is released they are
// offered to the driver again.
type unreleasedPages struct {
	mu    sync.Mutex
	pages []spec.PageHandle
}

// release gives pages up, and keeps those that the driver does not take.
func (u *unreleasedPages) release(memory spec.VirtualMemory, pages []spec.PageHandle) (failure error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.offer(memory, pages)
}

// releaseAgain offers the driver what it did not take before.
func (u *unreleasedPages) releaseAgain(driver spec.Driver) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pages) == 0 {
		return nil
	}
	pages := u.pages
	u.pages = nil
	return u.offer(driver.(spec.VirtualMemory), pages)
}

func (u *unreleasedPages) offer(memory spec.VirtualMemory, pages []spec.PageHandle) error {
	stuck, failure := releasePages(memory, pages)
	u.pages = append(u.pages, stuck...)
	return failure
}

// afterCleanup is the error of something that failed and had to be undone. If that
// failed as well it is the greater worry: running out of memory, say, is then not
// all that is wrong.
func afterCleanup(err, cleanup error) error {
	if cleanup == nil {
		return err
	}
	return fmt.Errorf("%w; it was to undo what had failed: %v", cleanup, err)
}
