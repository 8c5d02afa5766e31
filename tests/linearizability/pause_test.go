package linearizability

import (
	"fmt"
	"slices"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// Pause is a set of places where a thread may pause during an operation, so that others run.
// The allocator's lock is held at none of them but EveryPoint: a thread that paused with it would
// block the others.
type Pause uint8

const (
	// BeforeLock: a free or an empty cache is about to take a device's lock. A free has
	// already found the device of the pointer.
	BeforeLock Pause = 1 << iota
	// BeforeDriver: a malloc has searched the cache and is about to call the driver.
	BeforeDriver
	// AfterDriver: the driver call of a malloc is about to return.
	AfterDriver
	// InCallback: a free-memory callback is about to free something.
	InCallback
	// BeforeMalloc: a malloc is about to take the lock. A correct one has changed nothing
	// yet, so that this pause only adds schedules.
	BeforeMalloc
	// EveryPoint is every point of an allocator whose sources are instrumented (package points).
	// Here the allocator's locks can be held: a thread that needs one of them is not ready.
	EveryPoint
)

// AllPauses is all places of an allocator as it is.
const AllPauses = BeforeLock | BeforeDriver | AfterDriver | InCallback | BeforeMalloc

// pauseNames are the places in the order of their bits.
var pauseNames = []string{"lock", "ask", "answer", "callback", "malloc", "every"}

// ParsePauses reads a list of places: lock, ask, answer, callback, malloc, every.
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

// A pausingDriver pauses before and after Malloc, if the allocator has released its lock. If
// it has not, a pause would let another thread wait for the lock forever.
type pausingDriver struct {
	*fakegpu.GPU
	execution    *execution
	lockReleased bool
}

// Malloc implements spec.Driver.
func (d *pausingDriver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if !d.lockReleased {
		return d.GPU.Malloc(dev, bytes)
	}
	d.execution.pause(BeforeDriver)
	p, err := d.GPU.Malloc(dev, bytes)
	d.execution.pause(AfterDriver)
	return p, err
}

// pauseBeforeLocks calls stop where the allocator asks for the context of a trace entry,
// which it does right before it takes a lock, with none held.
func (w *execution) pauseBeforeLocks(stop func()) error {
	recorder, able := w.allocator.(spec.HistoryRecorder)
	if !able {
		return nil
	}
	return recorder.RecordHistory(spec.HistoryOptions{
		Enabled: true,
		Level:   spec.ContextAll,
		Context: func() any { stop(); return nil },
	})
}
