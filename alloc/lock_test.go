package alloc

import (
	"sync"
	"testing"
	"time"

	"gaugeblock/fakegpu"
)

// TestLockExcludes: of many goroutines one has the mutex, whether others take it with lock or
// as a sync.Mutex, and everybody gets it.
func TestLockExcludes(t *testing.T) {
	d := new(device)
	const times = 20_000
	count := 0
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range times {
				if i%4 == 0 {
					d.mu.Lock()
				} else {
					d.lock()
				}
				count++
				d.mu.Unlock()
			}
		})
	}
	group.Wait()
	if count != 8*times {
		t.Errorf("the mutex was taken %d times, the count is %d", 8*times, count)
	}
}

// TestLockWaits: a goroutine waits for one that has the mutex for long, and the others wait
// for their turns.
func TestLockWaits(t *testing.T) {
	d := new(device)
	d.lock()
	taken := make(chan bool)
	for range 3 {
		go func() {
			d.lock()
			d.mu.Unlock()
			taken <- true
		}()
	}
	select {
	case <-taken:
		t.Fatal("the mutex was taken twice")
	case <-time.After(20 * time.Millisecond):
	}
	d.mu.Unlock()
	for range 3 {
		<-taken
	}
}

// TestMallocKeepsMutex: without callbacks that may free memory, a malloc that obtains a segment
// does not release the mutex meanwhile. A goroutine that has waited for more than a millisecond
// gets a sync.Mutex when it is released, even if it is taken again at once.
func TestMallocKeepsMutex(t *testing.T) {
	for range 5 {
		a, err := New(fakegpu.New(fakegpu.Config{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := a.devices[0]
		inside := false
		done := make(chan bool)
		d.mu.Lock()
		go func() {
			d.mu.Lock()
			if inside {
				t.Error("the mutex was released")
			}
			d.mu.Unlock()
			close(done)
		}()
		time.Sleep(3 * time.Millisecond)
		d.mu.Unlock() // wakes the goroutine, which then insists
		d.mu.Lock()
		time.Sleep(3 * time.Millisecond)
		inside = true
		if _, failure, err := d.findAndAllocateLocked(&allocParams{requestedSize: 512}); failure != nil || err != nil {
			t.Error(failure, err)
		}
		inside = false
		d.unlock()
		<-done
	}
}
