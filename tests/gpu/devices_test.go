package gpu

import (
	"errors"
	"runtime"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/cudaimpl"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
)

// A device under test: the contract, and the two things that tests need beside it.
type device interface {
	spec.Driver
	spec.VirtualMemory
	spec.MemorySharing
	spec.PeerAccess
	spec.Executor

	// Leaks lists what the process still holds of the driver.
	Leaks() []string
	// hold keeps a stream's later work from being done, until release.
	hold(dev spec.Device, s spec.Stream) (release func(), err error)
	close() error
}

// fake is the fake device.
type fake struct{ *fakegpu.GPU }

func (f fake) hold(dev spec.Device, s spec.Stream) (func(), error) {
	if err := f.Busy(dev, s); err != nil {
		return nil, err
	}
	return func() { f.OpenGate(dev, s) }, nil
}

func (f fake) close() error { f.Exit(); return nil }

// real is the real one.
type real struct{ *cudaimpl.GPU }

func (r real) hold(dev spec.Device, s spec.Stream) (func(), error) {
	h, err := r.Hold(dev, s)
	if err != nil {
		return nil, err
	}
	return h.Release, nil
}

func (r real) close() error { return r.Close() }

// onBoth runs a test on the fake device and on the real one, if there is one.
func onBoth(t *testing.T, run func(l *lab)) {
	t.Run("fake", func(t *testing.T) { within(t, newFake(), run) })
	t.Run("device", func(t *testing.T) { within(t, openReal(t), run) })
}

func newFake() device {
	return fake{fakegpu.New(fakegpu.Config{Devices: fakegpu.Devices(3, 16*spec.GiB)})}
}

// openReal is the real device; without one the test is skipped.
func openReal(t *testing.T) device {
	t.Helper()
	gpu, err := cudaimpl.Open()
	var unavailable *cudaimpl.UnavailableError
	if errors.As(err, &unavailable) {
		note(t)
		t.Skipf("there is no device to test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return real{gpu}
}

// lab is a test on a device: it fails the test when something that must succeed does not,
// and puts away what was made through it.
type lab struct {
	*testing.T
	device
	allocators []*alloc.Allocator
	streams    []streamOf
}

type streamOf struct {
	device spec.Device
	handle spec.Stream
}

// within runs a test on one thread, since captures belong to threads, and sees to it
// that nothing is left of it.
func within(t *testing.T, d device, run func(l *lab)) {
	note(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := &lab{T: t, device: d}
	defer func() {
		if err := l.close(); err != nil {
			t.Errorf("closing the device: %v", err)
		}
	}()
	run(l)
	l.putAway()
	if leaks := l.Leaks(); len(leaks) > 0 {
		t.Errorf("left on the device: %q", leaks)
	}
}

// anew closes the device, with whatever is left on it, and opens it again.
func (l *lab) anew() {
	l.Helper()
	_, isFake := l.device.(fake)
	l.must(l.close())
	if isFake {
		l.device = newFake()
	} else {
		l.device = openReal(l.T)
	}
}

// putAway closes the allocators, which still ask about streams, and then the streams.
func (l *lab) putAway() {
	for _, a := range l.allocators {
		l.must(a.Close())
	}
	for _, s := range l.streams {
		l.must(l.DestroyStream(s.device, s.handle))
	}
	l.allocators, l.streams = nil, nil
}

func (l *lab) must(err error) {
	l.Helper()
	must(l, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reference is the allocator, on the device or on one that gets in between.
func (l *lab) reference(on spec.Driver, settings string) *alloc.Allocator {
	l.Helper()
	a, err := alloc.New(on, alloc.Options{Settings: settings})
	l.must(err)
	l.allocators = append(l.allocators, a)
	return a
}

func (l *lab) stream(dev spec.Device) spec.Stream {
	l.Helper()
	s, err := l.CreateStream(dev)
	l.must(err)
	l.streams = append(l.streams, streamOf{dev, s})
	return s
}

func (l *lab) event() spec.EventHandle {
	l.Helper()
	e, err := l.CreateEvent(0)
	l.must(err)
	return e
}

// obtain is memory of an allocator.
func (l *lab) obtain(a spec.Allocator, dev spec.Device, s spec.Stream, bytes uint64) spec.Range {
	l.Helper()
	p, err := a.Malloc(spec.Request{Device: dev, Stream: s, Bytes: bytes})
	l.must(err)
	return spec.Range{Ptr: p, Bytes: bytes}
}

// raw is memory from the driver.
func (l *lab) raw(bytes uint64) spec.Range {
	l.Helper()
	p, err := l.Malloc(0, bytes)
	l.must(err)
	return spec.Range{Ptr: p, Bytes: bytes}
}

func (l *lab) held(dev spec.Device, s spec.Stream) (release func()) {
	l.Helper()
	release, err := l.hold(dev, s)
	l.must(err)
	return release
}

// copyTo copies within device 0.
func (l *lab) copyTo(dst spec.Ptr, src spec.Range, s spec.Stream) {
	l.Helper()
	l.must(l.Copy(spec.Copy{Stream: s, Dst: dst, Src: src.Ptr, Bytes: src.Bytes}))
}

// has says what is wrong if a range does not hold a value throughout, once the stream has
// caught up.
func (l *lab) has(dev spec.Device, s spec.Stream, r spec.Range, value byte) error {
	l.Helper()
	data, err := l.ReadBack(dev, s, r)
	l.must(err)
	return expect(data, value)
}

// verdict holds what a test has seen against what it had to see.
func (l *lab) verdict(wrong error, broken bool) {
	l.Helper()
	switch {
	case wrong != nil && !broken:
		l.Error(wrong)
	case wrong == nil && broken:
		l.Error("nothing wrong was found of an allocator that is broken")
	case broken:
		l.Logf("found: %v", wrong)
	}
}
