//go:build cgo && linux

package cudaimpl

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	"gaugeblock/spec"
)

// The ledger says what was taken of the driver and has not been given back. It
// serves three ends: Leaks and Close, which give account and give back; refusing
// handles that are none, on which the driver would crash; and what a call has to
// know of a thing beside its handle, such as the device that it is of.

// kind is a kind of thing. Close gives back in this order: what uses comes before
// what is used.
type kind int

const (
	kindGraphExec kind = iota
	kindGraph
	kindStream
	kindEvent
	kindOpened
	kindMapping
	kindRange
	kindPage
	kindPiece

	numKinds
)

var kindNames = [numKinds]string{
	"executable graph", "graph", "stream", "event", "opened memory",
	"mapping", "reserved range", "page", "memory",
}

func (k kind) String() string { return kindNames[k] }

// entry is what is known of a thing.
type entry struct {
	device spec.Device
	bytes  uint64 // memory of all sorts
	opened string // opened memory: its handle
	fd     int    // pages: the descriptor that was exported, if exported
	hasFD  bool
}

type ledger struct {
	mu       sync.RWMutex
	things   [numKinds]map[uint64]entry
	captures map[spec.Stream]spec.CaptureMode // under way, by the stream that began them
}

func (l *ledger) open() {
	l.captures = map[spec.Stream]spec.CaptureMode{}
	for k := range l.things {
		l.things[k] = map[uint64]entry{}
	}
}

func (l *ledger) add(k kind, handle uint64, e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.things[k][handle] = e
}

func (l *ledger) drop(k kind, handle uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.things[k], handle)
}

// find is an entry; the error is that of a call about a thing that is not there.
func (l *ledger) find(method string, k kind, handle uint64) (entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e, there := l.things[k][handle]
	if there {
		return e, nil
	}
	number := invalidValue
	if k == kindEvent || k == kindStream {
		number = invalidHandle
	}
	return entry{}, refuse(method, number, "there is no %v %#x", k, handle)
}

// findOn is find for a thing that has to be of a device.
func (l *ledger) findOn(method string, k kind, handle uint64, dev spec.Device) (entry, error) {
	e, err := l.find(method, k, handle)
	if err == nil && e.device != dev {
		return e, refuse(method, invalidValue, "%v %#x is of device %d, not %d", k, handle, e.device, dev)
	}
	return e, err
}

// inOrder lists the handles of a kind.
func (l *ledger) inOrder(k kind) []uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Sorted(maps.Keys(l.things[k]))
}

// Leaks lists everything that is still held of the driver, by kind and handle. A
// program that has put away what it took leaks nothing.
func (g *GPU) Leaks() []string {
	g.ledger.mu.RLock()
	defer g.ledger.mu.RUnlock()
	var leaks []string
	for k := range numKinds {
		for _, handle := range slices.Sorted(maps.Keys(g.ledger.things[k])) {
			leaks = append(leaks, fmt.Sprintf("%v %#x of device %d, %d bytes", k, handle, g.ledger.things[k][handle].device, g.ledger.things[k][handle].bytes))
		}
	}
	for _, s := range slices.SortedFunc(maps.Keys(g.ledger.captures), func(a, b spec.Stream) int { return cmp.Compare(a, b) }) {
		leaks = append(leaks, fmt.Sprintf("capture that began on stream %v", s))
	}
	return leaks
}
