package points

import "gaugeblock/spec/happensbefore"

// LeftOut is the position of a call of Lock or TryLock that does nothing, nor does the Unlock that
// belongs to it: the next one of that mutex by the same thread. "" is none.
var LeftOut string

// A Mutex stands in for sync.Mutex.
type Mutex struct {
	held     bool
	leftOut  map[int]int // by thread: calls of Lock that were left out, and not unlocked
	released happensbefore.Clock
}

// leaveOut reports whether a call of Lock is left out.
func (m *Mutex) leaveOut(site string) bool {
	if site != LeftOut || run == nil {
		return false
	}
	if m.leftOut == nil {
		m.leftOut = map[int]int{}
	}
	m.leftOut[run.thread]++
	return true
}

// leftOutBefore reports whether a call of Unlock belongs to one that was left out.
func (m *Mutex) leftOutBefore() bool {
	if run == nil || m.leftOut[run.thread] == 0 {
		return false
	}
	m.leftOut[run.thread]--
	return true
}

// LockAt is Lock, at a place in the source.
func (m *Mutex) LockAt(site string) {
	point(Acquire, site)
	if m.leaveOut(site) {
		return
	}
	waitUntil(site, func() bool { return !m.held })
	m.held = true
	acquire(&m.released)
}

// TryLockAt is TryLock.
func (m *Mutex) TryLockAt(site string) bool {
	point(Acquire, site)
	if m.leaveOut(site) {
		return true
	}
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
	if m.leftOutBefore() {
		return
	}
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
