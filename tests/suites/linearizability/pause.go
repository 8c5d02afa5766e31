package linearizability

import (
	"fmt"
	"slices"

	"gaugeblock/spec"
)

// Pause is a set of places where a thread may be stopped in the middle of an
// operation, for others to run. At all of them the allocator's lock is not held;
// that is why only they can be stopped at.
type Pause uint8

const (
	// BeforeLock: a free or an emptying of the cache is about to take a device's
	// lock. A free has already found out which device the pointer is of.
	BeforeLock Pause = 1 << iota
	// BeforeDriver: a malloc has searched and is about to ask the driver.
	BeforeDriver
	// AfterDriver: the driver has answered a malloc, which does not know yet.
	AfterDriver
	// InCallback: a callback is about to free something.
	InCallback
	// BeforeMalloc: a malloc is about to take the lock. One that is right has done
	// nothing by then, so that stopping it only makes for more schedules.
	BeforeMalloc
)

// AllPauses is all of them.
const AllPauses = BeforeLock | BeforeDriver | AfterDriver | InCallback | BeforeMalloc

// pauseNames are the places in the order of their bits.
var pauseNames = []string{"lock", "ask", "answer", "callback", "malloc"}

// ParsePauses reads a list of places: lock, ask, answer, callback, malloc.
func ParsePauses(names []string) (p Pause, err error) {
	for _, name := range names {
		i := slices.Index(pauseNames, name)
		if i < 0 {
			return 0, fmt.Errorf("%q is not a place to pause at", name)
		}
		p |= 1 << i
	}
	return p, nil
}

// names is the inverse of ParsePauses.
func (p Pause) names() (names []string) {
	for i, name := range pauseNames {
		if p&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// A pausingDriver stops before and after Malloc, if the allocator has released its
// lock. If it has not, stopping would let another thread wait for the lock for
// ever.
type pausingDriver struct {
	spec.Driver
	execution    *execution
	lockReleased bool
}

// Malloc implements spec.Driver.
func (d *pausingDriver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if !d.lockReleased {
		return d.Driver.Malloc(dev, bytes)
	}
	d.execution.pause(BeforeDriver)
	p, err := d.Driver.Malloc(dev, bytes)
	d.execution.pause(AfterDriver)
	return p, err
}

// pauseBeforeLocks calls stop where the allocator asks for the context of a history
// entry, which it does with no lock held: right before it takes one.
func (w *execution) pauseBeforeLocks(stop func()) error {
	historian, able := w.allocator.(spec.HistoryRecorder)
	if !able {
		return nil
	}
	return historian.RecordHistory(spec.HistoryOptions{
		Enabled: true,
		Level:   spec.ContextAll,
		Context: func() any { stop(); return nil },
	})
}
