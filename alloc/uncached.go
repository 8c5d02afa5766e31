package alloc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
)

// uncached is the memory that was given out while caching was off: straight from
// the driver, unrounded, and straight back. It counts in no figure and has no
// history, as upstream. Each pointer goes back the way it came, even if caching
// was turned on or off meanwhile.
type uncached struct {
	used atomic.Bool // there has been such memory
	mu   sync.Mutex
	out  map[spec.Ptr]*device
}

func (u *uncached) malloc(d *device, bytes uint64) (spec.Ptr, error) {
	ptr, err := d.driver.Malloc(d.id, bytes)
	if err != nil {
		return 0, fmt.Errorf("malloc of %d bytes, uncached: %w", bytes, err)
	}
	u.used.Store(true)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.out == nil {
		u.out = map[spec.Ptr]*device{}
	}
	u.out[ptr] = d
	return ptr, nil
}

func (u *uncached) has(p spec.Ptr) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.out[p] != nil
}

// free gives the memory at p back. The pointer stops being out before the driver
// is called, which could give the same address to somebody else at once.
func (u *uncached) free(p spec.Ptr) error {
	u.mu.Lock()
	d := u.out[p]
	delete(u.out, p)
	u.mu.Unlock()
	if d == nil {
		return &spec.InvalidPointerError{Op: "free", Ptr: p}
	}
	if err := d.driver.Free(d.id, p); err != nil {
		u.mu.Lock()
		u.out[p] = d
		u.mu.Unlock()
		return fmt.Errorf("free, uncached: %w", err)
	}
	return nil
}
