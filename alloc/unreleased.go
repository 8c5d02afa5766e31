package alloc

import (
	"errors"
	"fmt"
	"sync"

	"gaugeblock/spec"
)

// unreleasedPages are pages that are not mapped and that the driver did not take
// back. They are in no figure. Whenever the cache is released they are offered to
// the driver again.
type unreleasedPages struct {
	mu    sync.Mutex
	pages []spec.PageHandle
}

func (u *unreleasedPages) keep(h spec.PageHandle) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pages = append(u.pages, h)
}

// release gives pages up, and keeps those that the driver does not take.
func (u *unreleasedPages) release(memory spec.VirtualMemory, pages []spec.PageHandle) (failure error) {
	for _, h := range pages {
		if err := memory.ReleasePage(h); err != nil {
			u.keep(h)
			failure = errors.Join(failure, fmt.Errorf("releasing a page: %w", err))
		}
	}
	return failure
}

// releaseAgain offers the driver what it did not take before.
func (u *unreleasedPages) releaseAgain(driver spec.Driver) error {
	u.mu.Lock()
	pages := u.pages
	u.pages = nil
	u.mu.Unlock()
	if len(pages) == 0 {
		return nil
	}
	return u.release(driver.(spec.VirtualMemory), pages)
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
