//go:build cgo && linux

package host

/*
#include "gaugeblock_cuda_table.h"
*/
import "C"

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"gaugeblock/spec"
)

// A watchdog says what the watchdog thread of PyTorch's groups of NCCL sees. On a GPU it sleeps for a tenth of a second
// between two looks, and the next collective lets go of the tensors of those collectives that it has seen as complete.
// How long a program takes on the fake GPU says nothing about a GPU. So the thread sees the end of a collective when the
// program has come to a place where it looks (gaugeblock_watchdog_looks), or by the clock of a schedule by time; and the
// next collective waits until it has seen what it can see. Equal runs let go of equal tensors, however busy the host is.
type watchdog struct {
	calls atomic.Uint64 // of other threads

	mu      sync.Mutex
	places  bool                      // the program says where it looks; otherwise a schedule by time does
	given   map[streamOf]bool         // streams whose last work is a collective
	hidden  map[spec.EventHandle]bool // ends of collectives since it looked last
	unseen  map[spec.EventHandle]bool // ends that it can see and has not seen
	threads map[int]bool              // that have seen something since the last wait
	absent  bool                      // nobody looks
	ends    atomic.Bool               // the program ends: whatever is over is seen
	idle    time.Time                 // since when calls is what it is
	counted uint64
}

type streamOf struct {
	device spec.Device
	stream spec.Stream
}

const (
	watchdogName = "pt_nccl_watchdg"
	collectives  = "nccl" // how the names of collectives begin
	// By the clock of a schedule by time it looks so often. It sleeps for ten times as long, but in another phase in each
	// run, which is what it is late by. To look all the time would cost a wait for its thread in each collective.
	watchdogLooks = 10 * time.Millisecond
	// A program that calls the driver no more waits for the watchdog, as the end of a group of processes does.
	watchdogIdle = 3 * time.Second
	// After so many collectives between two places there is another place.
	mostHidden = 256
	// A thread that has not looked for so long is not there, or is blocked.
	watchdogAbsent = 5 * time.Second
	// It has let go of what it has seen when it sleeps again: in so many looks one after the other.
	watchdogSleeps = 3
)

func newWatchdog(places bool) *watchdog {
	return &watchdog{
		places: places, given: map[streamOf]bool{}, hidden: map[spec.EventHandle]bool{}, unseen: map[spec.EventHandle]bool{}, threads: map[int]bool{},
	}
}

func isWatchdog() bool {
	name, err := os.ReadFile("/proc/thread-self/comm")
	return err == nil && bytes.Equal(bytes.TrimSpace(name), []byte(watchdogName))
}

// launched hears of a collective that is given to a stream.
func (d *watchdog) launched(s streamOf) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given[s] = true
}

// recorded hears of an event that is recorded. The first one behind a collective marks its end.
func (d *watchdog) recorded(e spec.EventHandle, s streamOf) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.hidden, e)
	delete(d.unseen, e)
	if !d.given[s] {
		return
	}
	delete(d.given, s)
	if !d.places {
		d.unseen[e] = true
		return
	}
	if d.hidden[e] = true; len(d.hidden) >= mostHidden {
		d.look()
	}
}

func (d *watchdog) destroyed(e spec.EventHandle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.hidden, e)
	delete(d.unseen, e)
}

// look is a place where it looks.
func (d *watchdog) look() {
	for e := range d.hidden {
		d.unseen[e] = true
	}
	clear(d.hidden)
}

// forget leaves to the watchdog what it sees of the collectives so far.
func (d *watchdog) forget() {
	clear(d.hidden)
	clear(d.unseen)
}

// asks reports whether the calling thread is the watchdog and asks for the end of a collective, and whether it can see it.
func (d *watchdog) asks(e spec.EventHandle) (it, sees bool) {
	if d == nil {
		return false, false
	}
	d.mu.Lock()
	is := d.unseen[e] || d.hidden[e]
	d.mu.Unlock()
	if !is || !isWatchdog() {
		return false, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if calls := d.calls.Load(); calls != d.counted || d.idle.IsZero() {
		d.counted, d.idle = calls, time.Now()
	} else if time.Since(d.idle) > watchdogIdle {
		d.forget()
	}
	return d.unseen[e] || d.hidden[e], d.unseen[e]
}

func (d *watchdog) saw(e spec.EventHandle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unseen, e)
	d.threads[unix.Gettid()], d.absent = true, false
}

// lacks reports whether it has not seen what it can see, though it looks.
func (d *watchdog) lacks(seen func(spec.EventHandle) bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for e := range d.unseen {
		if !d.absent && seen(e) {
			return true
		}
	}
	return false
}

// sleeps reports whether the threads that saw something sleep again.
func (d *watchdog) sleeps() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for thread := range d.threads {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", thread))
		if _, state, is := bytes.Cut(stat, []byte(") ")); err == nil && is && !bytes.HasPrefix(state, []byte("S")) {
			return false
		}
	}
	return true
}

// settled waits until it has let go of what it has seen.
func (d *watchdog) settled(until time.Time) {
	for n := 0; n < watchdogSleeps && time.Now().Before(until); time.Sleep(time.Millisecond) {
		if n++; !d.sleeps() {
			n = 0
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.threads)
}

// sawSome reports whether it saw something since the last wait.
func (d *watchdog) sawSome() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.threads) > 0
}

// seen reports whether the watchdog sees the end of a collective that is not hidden from it.
func (p *Process) seen(e spec.EventHandle) bool {
	if p.watchdog.ends.Load() {
		complete, err := p.GPU.QueryEvent(e)
		return complete && err == nil
	}
	return p.GPU.EventSeen(e, watchdogLooks, p.WatchdogLate)
}

// awaitWatchdog is before a collective is given.
func (p *Process) awaitWatchdog() {
	d := p.watchdog
	until := time.Now().Add(watchdogAbsent)
	for ; d.lacks(p.seen); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			d.mu.Lock()
			d.forget()
			d.absent = true
			d.mu.Unlock()
		}
	}
	if d.sawSome() {
		d.settled(until)
	}
}

// watches hears of an operation before it is done.
func (p *Process) watches(operation C.int, w *words) {
	if p.watchdog == nil {
		return
	}
	if operation != C.GAUGEBLOCK_EVENT_QUERY {
		p.watchdog.calls.Add(1)
	}
	switch operation {
	case C.GAUGEBLOCK_KERNEL:
		if strings.HasPrefix(text(w[2]), collectives) {
			p.awaitWatchdog()
			p.watchdog.launched(streamOf{device(w[0]), stream(w[1])})
		}
	case C.GAUGEBLOCK_WATCHDOG_LOOKS:
		if w[0] == C.GAUGEBLOCK_AT_END {
			p.programEnds()
		}
	case C.GAUGEBLOCK_EVENT_RECORD:
		p.watchdog.recorded(spec.EventHandle(w[0]), streamOf{device(w[1]), stream(w[2])})
	case C.GAUGEBLOCK_EVENT_DESTROY:
		p.watchdog.destroyed(spec.EventHandle(w[0]))
	}
}

// programEnds waits for the watchdog. A collective that it has not seen as complete when the libraries end, where groups
// of processes were not destroyed, ends the program by a signal.
func (p *Process) programEnds() {
	p.watchdog.mu.Lock()
	p.watchdog.look()
	p.watchdog.mu.Unlock()
	p.watchdog.ends.Store(true)
	p.awaitWatchdog()
}

// looks is a place where the program says that the watchdog looks, of which a schedule by time has no need, or that a
// group of processes ends, which waits for the watchdog.
func (p *Process) looks(groupEnds bool) {
	d := p.watchdog
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if groupEnds {
		d.forget()
	} else if d.places {
		d.look()
	}
}
