package gpu

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// A shadow lets the real device do all that the fake one does. It stands around the fake
// device in the conformance suite: every call goes to the fake device first; then the
// real one makes it too, with handles and addresses of its own, and must give the same
// answer. So the suite runs unchanged, with all that it checks, an allocator of its does
// all its work on real memory, and wherever the two devices differ it shows.
//
// Three things are not done at the same time, or not at all:
//
//   - The fake device refuses a wait that nothing would end; the real one would wait. Such a
//     call is not made.
//   - cudaFree waits for the whole device, the fake one's does not. A piece is freed when no
//     stream is held and nothing is captured.
//   - How much memory there is, and what other programs take of it, is the fake device's
//     matter: programs of the suite get along with a part of what the real one has.
//
// Should a call of the real device wait for a held stream all the same, the streams are let
// go after a while and the program is given up as void: what the device still has of it is
// not looked at. (It happens. Streams share queues of the hardware, and one that is held can
// hold up others, which no program can rely on not to happen.)
type shadow struct {
	*fakegpu.GPU
	on device

	areas   btree.Map[spec.Ptr, area] // pieces and reserved ranges, by the fake address
	streams map[spec.Stream]spec.Stream
	events  map[spec.EventHandle]spec.EventHandle
	pages   map[spec.PageHandle]spec.PageHandle
	graphs  map[spec.Graph]spec.Graph
	execs   map[spec.GraphExec]spec.GraphExec

	captures int // under way
	later    []func() error
	calls    int   // made on the real device
	differs  error // the first difference; after it the real device is left alone

	patience time.Duration // after which a call counts as waiting for what is held

	mu    sync.Mutex                     // guards what the watchdog changes:
	holds map[spec.DeviceStream][]func() // what releases them
	void  string                         // the call that waited
}

// area is memory or addresses on both devices.
type area struct {
	spec.Range          // on the fake device
	real       spec.Ptr // its beginning on the real one
}

func newShadow(fake *fakegpu.GPU, on device) *shadow {
	return &shadow{
		GPU: fake, on: on, patience: 2 * time.Second,
		streams: map[spec.Stream]spec.Stream{0: 0},
		events:  map[spec.EventHandle]spec.EventHandle{},
		pages:   map[spec.PageHandle]spec.PageHandle{},
		graphs:  map[spec.Graph]spec.Graph{},
		execs:   map[spec.GraphExec]spec.GraphExec{},
		holds:   map[spec.DeviceStream][]func(){},
	}
}

// follow makes a call on the real device after the fake one has answered it, and compares.
// Errors that spoil a capture have to happen on both; any other error has changed nothing
// on the fake device, and the real one is not asked.
func (s *shadow) follow(call string, answered error, do func() error) error {
	if s.differs != nil || s.gaveUp() != "" {
		return answered
	}
	want := codeOf(answered)
	if answered != nil && (want < 900 || want > 907) {
		return answered
	}
	s.calls++
	s.sameGates()
	watchdog := time.AfterFunc(s.patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.void = call
		s.letGo()
	})
	err := do()
	watchdog.Stop()
	if got := codeOf(err); got != want || (err != nil && got == 0) {
		s.differ("%s: the fake device says %v, the real one %v", call, answered, err)
	}
	return answered
}

// gaveUp is the call that waited.
func (s *shadow) gaveUp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.void
}

func (s *shadow) differ(format string, args ...any) {
	if s.differs == nil {
		s.differs = fmt.Errorf(format, args...)
	}
}

// codeOf is CUDA's number of an error, 0 if it has none.
func codeOf(err error) int {
	var failed *spec.DriverError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return 0
}

// there translates a range; not ok if the real device has no such memory any more.
func (s *shadow) there(r spec.Range) (real spec.Range, ok bool) {
	s.areas.Descend(r.Ptr, func(_ spec.Ptr, a area) bool {
		if ok = a.Contains(r); ok {
			real = spec.Range{Ptr: a.real + (r.Ptr - a.Ptr), Bytes: r.Bytes}
		}
		return false
	})
	return real, ok
}

// letGo opens all holds; the lock is held.
func (s *shadow) letGo() {
	for on, holds := range s.holds {
		for _, release := range holds {
			release()
		}
		delete(s.holds, on)
	}
}

// quiet does what was deferred, if nothing is held and nothing captured.
func (s *shadow) quiet() {
	s.mu.Lock()
	held := len(s.holds)
	s.mu.Unlock()
	if held > 0 || s.captures > 0 || s.differs != nil || s.gaveUp() != "" {
		return
	}
	for _, free := range s.later {
		if err := free(); err != nil {
			s.differ("deferred Free: %v", err)
		}
	}
	s.later = nil
}

// end lets everything go on and looks what is left on the real device.
func (s *shadow) end() {
	s.mu.Lock()
	s.letGo()
	s.mu.Unlock()
	s.captures = 0
	s.quiet()
	for dev := range s.DeviceCount() {
		if err := s.on.SynchronizeDevice(spec.Device(dev)); err != nil {
			s.differ("in the end: %v", err)
		}
	}
	if leaks := s.on.Leaks(); len(leaks) > 0 && s.gaveUp() == "" {
		s.differ("left on the real device: %q", leaks)
	}
}

// AddStream implements replay.Device.
func (s *shadow) AddStream(dev spec.Device, handle spec.Stream) error {
	return s.follow("AddStream", s.GPU.AddStream(dev, handle), func() (err error) {
		s.streams[handle], err = s.on.CreateStream(dev)
		return err
	})
}

// Busy implements replay.Device.
func (s *shadow) Busy(dev spec.Device, handle spec.Stream) error {
	return s.follow("Busy", s.GPU.Busy(dev, handle), func() error {
		release, err := s.on.hold(dev, s.streams[handle])
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			on := spec.DeviceStream{Device: dev, Stream: handle}
			s.holds[on] = append(s.holds[on], release)
		}
		return err
	})
}

// Drain implements replay.Device.
func (s *shadow) Drain(dev spec.Device, handle spec.Stream) error {
	err := s.GPU.Drain(dev, handle)
	s.sameGates()
	s.quiet()
	return err
}

// sameGates lets go as much as the fake device has: when it is drained, and when a call
// waits, for as far as the call needs.
func (s *shadow) sameGates() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for on, holds := range s.holds {
		for closed := s.Gates(on.Device, on.Stream); len(holds) > closed; holds = holds[1:] {
			holds[0]()
		}
		if s.holds[on] = holds; len(holds) == 0 {
			delete(s.holds, on)
		}
	}
}

// Malloc implements spec.Driver.
func (s *shadow) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	p, err := s.GPU.Malloc(dev, bytes)
	return p, s.follow("Malloc", err, func() error {
		real, err := s.on.Malloc(dev, bytes)
		s.areas.Set(p, area{spec.Range{Ptr: p, Bytes: bytes}, real})
		return err
	})
}

// Free implements spec.Driver.
func (s *shadow) Free(dev spec.Device, p spec.Ptr) error {
	err := s.GPU.Free(dev, p)
	if err == nil {
		if a, there := s.areas.Delete(p); there {
			s.later = append(s.later, func() error { return s.on.Free(dev, a.real) })
			s.quiet()
		}
	}
	return err
}

// CreateEvent implements spec.Driver.
func (s *shadow) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	e, err := s.GPU.CreateEvent(dev)
	return e, s.follow("CreateEvent", err, func() (err error) {
		s.events[e], err = s.on.CreateEvent(dev)
		return err
	})
}

// RecordEvent implements spec.Driver.
func (s *shadow) RecordEvent(e spec.EventHandle, dev spec.Device, on spec.Stream) error {
	return s.follow("RecordEvent", s.GPU.RecordEvent(e, dev, on), func() error {
		return s.on.RecordEvent(s.events[e], dev, s.streams[on])
	})
}

// QueryEvent implements spec.Driver. What is complete on the fake device will be complete on
// the real one; what is not must not be.
func (s *shadow) QueryEvent(e spec.EventHandle) (bool, error) {
	complete, err := s.GPU.QueryEvent(e)
	return complete, s.follow("QueryEvent", err, func() error {
		if complete {
			return s.on.SynchronizeEvent(s.events[e])
		}
		done, err := s.on.QueryEvent(s.events[e])
		if done {
			s.differ("QueryEvent: an event is complete that the fake device holds back")
		}
		return err
	})
}

// SynchronizeEvent implements spec.Driver.
func (s *shadow) SynchronizeEvent(e spec.EventHandle) error {
	return s.follow("SynchronizeEvent", s.GPU.SynchronizeEvent(e), func() error { return s.on.SynchronizeEvent(s.events[e]) })
}

// DestroyEvent implements spec.Driver.
func (s *shadow) DestroyEvent(e spec.EventHandle) error {
	return s.follow("DestroyEvent", s.GPU.DestroyEvent(e), func() error { return s.on.DestroyEvent(s.events[e]) })
}

// SynchronizeStream implements spec.Driver.
func (s *shadow) SynchronizeStream(dev spec.Device, on spec.Stream) error {
	return s.follow("SynchronizeStream", s.GPU.SynchronizeStream(dev, on), func() error {
		return s.on.SynchronizeStream(dev, s.streams[on])
	})
}

// SynchronizeDevice implements spec.Driver.
func (s *shadow) SynchronizeDevice(dev spec.Device) error {
	return s.follow("SynchronizeDevice", s.GPU.SynchronizeDevice(dev), func() error { return s.on.SynchronizeDevice(dev) })
}

// CaptureStatus implements spec.Driver.
func (s *shadow) CaptureStatus(dev spec.Device, on spec.Stream) (spec.CaptureInfo, error) {
	status, err := s.GPU.CaptureStatus(dev, on)
	return status, s.follow("CaptureStatus", err, func() error {
		real, err := s.on.CaptureStatus(dev, s.streams[on])
		if err == nil && (real.Status != status.Status || len(real.Terminals) != len(status.Terminals)) {
			s.differ("CaptureStatus: %+v on the fake device, %+v on the real one", status, real)
		}
		return err
	})
}

// DestroyStream implements spec.Executor.
func (s *shadow) DestroyStream(dev spec.Device, on spec.Stream) error {
	return s.follow("DestroyStream", s.GPU.DestroyStream(dev, on), func() error {
		return s.on.DestroyStream(dev, s.streams[on])
	})
}

// ranges translates several; not ok if one is not there, which the fake device has told.
func (s *shadow) ranges(all []spec.Range) (real []spec.Range, ok bool) {
	for _, r := range all {
		t, there := s.there(r)
		if !there {
			return nil, false
		}
		real = append(real, t)
	}
	return real, true
}

// Launch implements spec.Executor.
func (s *shadow) Launch(l spec.Launch) error {
	writes, ok := s.ranges(slices.Clone(l.Writes))
	return s.follow("Launch", s.GPU.Launch(l), func() error {
		if len(writes) > 1 || !ok { // a node, not several; and none of what is not there
			writes = writes[:min(1, len(writes))]
		}
		return s.on.Launch(spec.Launch{Device: l.Device, Stream: s.streams[l.Stream], Name: l.Name, Writes: writes})
	})
}

// Copy implements spec.Executor.
func (s *shadow) Copy(c spec.Copy) error {
	both, ok := s.ranges([]spec.Range{{Ptr: c.Dst, Bytes: c.Bytes}, {Ptr: c.Src, Bytes: c.Bytes}})
	return s.follow("Copy", s.GPU.Copy(c), func() error {
		if !ok {
			return nil
		}
		c.Dst, c.Src, c.Stream = both[0].Ptr, both[1].Ptr, s.streams[c.Stream]
		return s.on.Copy(c)
	})
}

// WaitEvent implements spec.Executor.
func (s *shadow) WaitEvent(dev spec.Device, on spec.Stream, e spec.EventHandle) error {
	return s.follow("WaitEvent", s.GPU.WaitEvent(dev, on, e), func() error {
		return s.on.WaitEvent(dev, s.streams[on], s.events[e])
	})
}
