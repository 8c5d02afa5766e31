package points

import "gaugeblock/spec/happensbefore"

// A Mutex stands in for sync.Mutex.
type Mutex struct {
	held     bool
	released happensbefore.Clock
}

// LockAt is Lock, at a place in the source.
func (m *Mutex) LockAt(site string) {
	point(Acquire, site)
	waitUntil(site, func() bool { return !m.held })
	m.held = true
	acquire(&m.released)
}

// TryLockAt is TryLock.
func (m *Mutex) TryLockAt(site string) bool {
	point(Acquire, site)
	if m.held {
		failed(m, site, func() bool { return !m.held })
		return false
	}
	m.held = true
	acquire(&m.released)
	return true
}

// UnlockAt is Unlock. Others run after it, too.
func (m *Mutex) UnlockAt(site string) {
	if !m.held {
		panic("unlock of a mutex that nobody holds at " + site)
	}
	m.held = false
	release(&m.released)
	point(Release, site)
}

// Lock and Unlock are for sync.Locker.
func (m *Mutex) Lock() { m.LockAt("sync.Locker") }

// Unlock releases the mutex.
func (m *Mutex) Unlock() { m.UnlockAt("sync.Locker") }

// A RWMutex stands in for sync.RWMutex.
type RWMutex struct {
	written  bool // a writer holds it
	readers  int
	released happensbefore.Clock // by writers
	read     happensbefore.Clock // released by readers since
}

// LockAt is Lock.
func (m *RWMutex) LockAt(site string) {
	point(Acquire, site)
	waitUntil(site, func() bool { return !m.written && m.readers == 0 })
	m.written = true
	acquire(&m.released)
	acquire(&m.read)
}

// UnlockAt is Unlock.
func (m *RWMutex) UnlockAt(site string) {
	if !m.written {
		panic("unlock of a mutex that nobody holds at " + site)
	}
	m.written = false
	release(&m.released)
	point(Release, site)
}

// RLockAt is RLock.
func (m *RWMutex) RLockAt(site string) {
	point(Acquire, site)
	waitUntil(site, func() bool { return !m.written })
	m.readers++
	acquire(&m.released)
}

// RUnlockAt is RUnlock.
func (m *RWMutex) RUnlockAt(site string) {
	if m.readers == 0 {
		panic("unlock of a mutex that nobody reads at " + site)
	}
	m.readers--
	releaseMore(&m.read)
	point(Release, site)
}
