package alloc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"gaugeblock/spec"
)

// uncached is the memory that was allocated while caching was off: by one driver call,
// not rounded. As upstream it counts in no statistic and leaves no trace entry. It is
// freed by one driver call, even if caching was turned on meanwhile.
type uncached struct {
	used atomic.Bool // memory was allocated in this way

	mu        sync.Mutex
	allocated map[spec.Ptr]*device
}

func (u *uncached) malloc(d *device, bytes uint64) (spec.Ptr, error) {
	ptr, err := d.driver.Malloc(d.id, bytes)
	if err != nil {
		return 0, fmt.Errorf("malloc of %d bytes, uncached: %w", bytes, err)
	}
	if err := u.add(d, spec.Range{Ptr: ptr, Bytes: bytes}); err != nil {
		return 0, err
	}
	return ptr, nil
}

// add keeps what the driver has returned, unless it cannot be memory, or is that of somebody else.
// (Upstream trusts it.) What is refused is not returned to the driver: it may be memory that is in
// use.
func (u *uncached) add(d *device, r spec.Range) error {
	d.mu.Lock()
	defer d.unlock()
	if err := d.checkSegmentLocked(r, d.driverAlignment()); err != nil {
		return err
	}
	u.used.Store(true)
	u.put(r.Ptr, d)
	return nil
}

func (u *uncached) has(p spec.Ptr) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.allocated[p] != nil
}

// free returns the memory at p to the driver. The pointer is deleted before the driver is
// called, because the driver may return the same address to another caller at once. If the
// driver fails or panics, it is put back.
func (u *uncached) free(p spec.Ptr) error {
	d := u.take(p)
	if d == nil {
		return &spec.InvalidPointerError{Op: "free", Ptr: p}
	}
	return unlessDone(func() { u.put(p, d) }, func() error {
		if err := d.driver.Free(d.id, p); err != nil {
			return fmt.Errorf("free, uncached: %w", err)
		}
		return nil
	})
}

// take deletes a pointer, and returns its device, or nil if it is not there.
func (u *uncached) take(p spec.Ptr) *device {
	u.mu.Lock()
	defer u.mu.Unlock()
	d := u.allocated[p]
	delete(u.allocated, p)
	return d
}

func (u *uncached) put(p spec.Ptr, d *device) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.allocated == nil {
		u.allocated = map[spec.Ptr]*device{}
	}
	u.allocated[p] = d
}
