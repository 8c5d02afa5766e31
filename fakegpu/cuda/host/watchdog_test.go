//go:build cgo && linux

package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// asWatchdog does something in a thread with the watchdog's name.
func asWatchdog(do func()) {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // and is never unlocked: the thread ends with its name
		name, _ := unix.BytePtrFromString(watchdogName)
		_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(name)), 0, 0, 0)
		do()
		close(done)
	}()
	<-done
}

// What the watchdog sees is what was over when it looked last. Who is not the watchdog, or asks for something else, is
// none of its business.
func TestWatchdogSees(t *testing.T) {
	d, s := newWatchdog(true), streamOf{0, 1}
	is := func(e spec.EventHandle, it, sees bool) {
		t.Helper()
		asWatchdog(func() {
			if a, b := d.asks(e); a != it || b != sees {
				t.Errorf("event %d: it is %v, it sees %v", e, a, b)
			}
		})
	}
	d.recorded(1, s) // behind no collective
	d.launched(s)
	d.recorded(2, streamOf{0, 2}) // another stream
	d.recorded(3, s)
	d.recorded(4, s) // the end was 3
	for e, it := range map[spec.EventHandle]bool{1: false, 2: false, 3: true, 4: false} {
		is(e, it, false)
	}
	if it, _ := d.asks(3); it {
		t.Error("this is not the watchdog's thread")
	}
	d.look()
	is(3, true, true)
	d.recorded(3, s) // again, for something else
	is(3, false, false)
	d.launched(s)
	d.recorded(5, s)
	d.destroyed(5)
	is(5, false, false)

	d.launched(s)
	d.recorded(6, s)
	is(6, true, false)
	d.calls.Add(1)
	d.idle = time.Now().Add(-time.Hour)
	is(6, true, false) // the program goes on
	d.idle = time.Now().Add(-time.Hour)
	is(6, false, false) // it does nothing
	d.calls.Add(1)
	for e := range spec.EventHandle(mostHidden) {
		d.launched(s)
		d.recorded(100+e, s)
	}
	is(100, true, true)
	is(99+mostHidden, true, true)
	(&Process{watchdog: d}).looks(true)
	is(100, false, false)
	if it, _ := (*watchdog)(nil).asks(1); it {
		t.Error("without a watchdog nobody is it")
	}
}

// A program ends when the watchdog has seen each collective that is over, whether the program says where it looks or not,
// and however late it is by the clock of a schedule.
func TestProgramEnds(t *testing.T) {
	for _, places := range []bool{true, false} {
		p := NewProcess(fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(1, 1<<30), Schedule: fakegpu.ByTime(fakegpu.Durations{
			Give: func() time.Duration { return time.Millisecond }, Call: time.Millisecond,
			Work: func(uint64, uint64) (starts, computes time.Duration, share float64) { return 0, 0, 1 },
		})}).NewProcess())
		p.watchdog, p.WatchdogLate = newWatchdog(places), time.Hour
		e, err := p.GPU.CreateEvent(0)
		if err != nil {
			t.Fatal(err)
		}
		p.watchdog.launched(streamOf{})
		p.watchdog.recorded(e, streamOf{})
		if err := p.GPU.RecordEvent(e, 0, 0); err != nil {
			t.Fatal(err)
		}
		var saw atomic.Bool
		go asWatchdog(func() {
			for until := time.Now().Add(watchdogAbsent); !saw.Load() && time.Now().Before(until); time.Sleep(time.Millisecond) {
				if it, sees := p.watchdog.asks(e); it && sees && p.seen(e) {
					saw.Store(true)
					p.watchdog.saw(e)
				}
			}
		})
		p.programEnds()
		if !saw.Load() || p.watchdog.absent {
			t.Errorf("places %v: the program ends before the watchdog has seen all", places)
		}
	}
}

// A collective waits until the watchdog has seen what it can see, and no longer.
func TestAwaitWatchdog(t *testing.T) {
	for _, timed := range []bool{false, true} {
		config := fakegpu.Config{Devices: fakegpu.Devices(1, 1<<30)}
		if timed {
			config.Schedule = fakegpu.ByTime(fakegpu.Durations{
				Give: func() time.Duration { return time.Millisecond }, Call: time.Millisecond,
				Work: func(uint64, uint64) (starts, computes time.Duration, share float64) {
					return 10 * time.Millisecond, 0, 1
				},
			})
		}
		p := NewProcess(fakegpu.NewMachine(config).NewProcess())
		p.watchdog, p.WatchdogLate = newWatchdog(!timed), 20*time.Millisecond
		e, err := p.GPU.CreateEvent(0)
		if err != nil {
			t.Fatal(err)
		}
		collective := func() {
			p.awaitWatchdog()
			p.watchdog.launched(streamOf{})
			if err := p.GPU.LaunchSized(spec.Launch{Name: "ncclA"}, 0, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
		collective()
		p.watchdog.recorded(e, streamOf{})
		if err := p.GPU.RecordEvent(e, 0, 0); err != nil {
			t.Fatal(err)
		}
		collective() // nothing can be seen yet
		p.looks(false)
		if err := p.GPU.SynchronizeStream(0, 0); err != nil {
			t.Fatal(err)
		}
		if seen := p.seen(e); seen == timed {
			t.Errorf("timed %v: the event is seen: %v", timed, seen)
		}
		for range 130 {
			if _, err := p.GPU.QueryEvent(e); err != nil {
				t.Fatal(err)
			}
		}
		go asWatchdog(func() {
			if it, sees := p.watchdog.asks(e); it && sees && p.seen(e) {
				p.watchdog.saw(e)
			}
		})
		collective()
		if len(p.watchdog.unseen)+len(p.watchdog.hidden) > 0 || p.watchdog.absent {
			t.Errorf("timed %v: it has not seen %v, %v; absent: %v", timed, p.watchdog.unseen, p.watchdog.hidden, p.watchdog.absent)
		}
	}
}
