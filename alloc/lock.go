package alloc

// Contract: lock is mu.Lock (TestLockExcludes); the rest of this file need not be read.
//
// How malloc and free take the device's mutex. They hold it for some dozen nanoseconds, again
// and again. If several goroutines do so, a sync.Mutex alone passes it to and fro: each time
// the caches of another processor must fetch what the first has changed, and goroutines that
// wait are put to sleep and woken for a few operations each.
//
// So the goroutines that have to wait take turns. The one whose turn it is tries to take the mutex,
// in intervals that grow up to some microseconds. Meanwhile the goroutine that works can take it
// many times. The others sleep. After some tens of microseconds, if somebody holds the mutex during
// a driver call, or the system runs something else, the goroutine whose turn it is sleeps as well.
// From there on sync.Mutex prevents that anybody waits for ever.

// The intervals, in iterations of an empty loop.
const (
	firstInterval   = 50
	longestInterval = 8000
	attempts        = 12
)

// lock takes the mutex. malloc and free do the same without the call, which would
// cost a nanosecond of each.
func (d *device) lock() {
	if !d.mu.TryLock() {
		d.lockInTurn()
	}
}

// lockInTurn takes the mutex when others have it.
func (d *device) lockInTurn() {
	d.turns.Lock()
	defer d.turns.Unlock()
	interval := firstInterval
	for range attempts {
		for range interval { // give the others time
		}
		if d.mu.TryLock() {
			return
		}
		interval = min(2*interval, longestInterval)
	}
	d.mu.Lock()
}
