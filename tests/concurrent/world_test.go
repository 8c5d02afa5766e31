package concurrent

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/fakegpu"
	"gaugeblock/spec"
	"gaugeblock/spec/invariant"
)

const (
	devices     = 3
	streams     = 2             // of each device, beside the default stream
	memoryOfOne = 25 * spec.MiB // of each device, for each goroutine
)

// world is what all goroutines use.
type world struct {
	t       *testing.T
	gpu     *fakegpu.GPU
	driver  *failingDriver
	a       *alloc.Allocator
	streams [devices][]spec.Stream
	handles [][]byte // of memory of another process
	checker *invariant.Checker
	failure atomic.Pointer[string] // the first

	mayReturnGarbage bool // the driver does: an error may be any of package spec
}

func newWorld(t *testing.T) *world {
	t.Helper()
	machine := fakegpu.NewMachine(fakegpu.Config{Devices: fakegpu.Devices(devices, uint64(goroutines)*memoryOfOne), Waits: fakegpu.WaitsDrain})
	w := &world{t: t, gpu: machine.NewProcess(), checker: invariant.NewChecker(spec.DefaultGeometry())}
	for dev := range spec.Device(devices) {
		w.streams[dev] = []spec.Stream{0}
		for range streams {
			s, err := w.gpu.CreateStream(dev)
			if err != nil {
				t.Fatal(err)
			}
			w.streams[dev] = append(w.streams[dev], s)
		}
	}
	w.driver = &failingDriver{GPU: w.gpu}
	var err error
	if w.a, err = alloc.New(w.driver, alloc.Options{}); err != nil {
		t.Fatal(err)
	}
	w.shareFrom(machine.NewProcess())
	return w
}

// shareFrom makes handles of memory of another process: two segments, and the pages of ten.
// (A handle that one goroutine has open is not imported for another.)
func (w *world) shareFrom(other *fakegpu.GPU) {
	a, err := alloc.New(other, alloc.Options{})
	share := func(bytes uint64, stream spec.Stream) {
		p, mallocErr := a.Malloc(spec.Request{Bytes: bytes, Stream: stream})
		h, shareErr := a.ShareHandle(p)
		err = errors.Join(err, mallocErr, shareErr)
		w.handles = append(w.handles, h.Handle)
	}
	share(512, 0)
	share(30*spec.MiB, 0)
	err = errors.Join(err, a.Configure("expandable_segments:True"))
	share(30*spec.MiB, 0)
	for range 9 {
		stream, streamErr := other.CreateStream(0)
		err = errors.Join(err, streamErr)
		share(512, stream)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// failingDriver lets some calls fail. It has no state that is written while the
// goroutines run.
type failingDriver struct {
	*fakegpu.GPU
	oneIn  int  // 0: no call fails
	panics bool // a call for pages panics every other time that it fails
}

var errFails = &spec.DriverError{Call: "any", Name: "cudaErrorUnknown", Code: 999}

func (d *failingDriver) fails() error {
	if d.oneIn > 0 && rand.IntN(d.oneIn) == 0 {
		return errFails
	}
	return nil
}

func (d *failingDriver) failsOrPanics() error {
	err := d.fails()
	if err != nil && d.panics && rand.IntN(2) == 0 {
		panic(err)
	}
	return err
}

func (d *failingDriver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if err := d.fails(); err != nil {
		return 0, err
	}
	return d.GPU.Malloc(dev, bytes)
}

func (d *failingDriver) Free(dev spec.Device, p spec.Ptr) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.GPU.Free(dev, p)
}

func (d *failingDriver) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	if err := d.fails(); err != nil {
		return 0, err
	}
	return d.GPU.CreateEvent(dev)
}

func (d *failingDriver) RecordEvent(e spec.EventHandle, dev spec.Device, s spec.Stream) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.GPU.RecordEvent(e, dev, s)
}

func (d *failingDriver) QueryEvent(e spec.EventHandle) (bool, error) {
	if err := d.fails(); err != nil {
		return false, err
	}
	return d.GPU.QueryEvent(e)
}

func (d *failingDriver) SynchronizeEvent(e spec.EventHandle) error {
	if err := d.fails(); err != nil {
		return err
	}
	return d.GPU.SynchronizeEvent(e)
}

func (d *failingDriver) CreatePage(dev spec.Device, bytes uint64, s spec.ShareType) (spec.PageHandle, error) {
	if err := d.failsOrPanics(); err != nil {
		return 0, err
	}
	return d.GPU.CreatePage(dev, bytes, s)
}

func (d *failingDriver) MapPage(p spec.Ptr, bytes uint64, h spec.PageHandle) error {
	if err := d.failsOrPanics(); err != nil {
		return err
	}
	return d.GPU.MapPage(p, bytes, h)
}

func (d *failingDriver) UnmapPage(p spec.Ptr, bytes uint64) error {
	if err := d.failsOrPanics(); err != nil {
		return err
	}
	return d.GPU.UnmapPage(p, bytes)
}

func (d *failingDriver) ReleasePage(h spec.PageHandle) error {
	if err := d.failsOrPanics(); err != nil {
		return err
	}
	return d.GPU.ReleasePage(h)
}

func (d *failingDriver) SetAccess(p spec.Ptr, bytes uint64, dev spec.Device) error {
	if err := d.failsOrPanics(); err != nil {
		return err
	}
	return d.GPU.SetAccess(p, bytes, dev)
}

func (d *failingDriver) ImportPage(pid uint64, s spec.ShareType, handle []byte) (spec.PageHandle, error) {
	if err := d.failsOrPanics(); err != nil {
		return 0, err
	}
	return d.GPU.ImportPage(pid, s, handle)
}

// fail keeps the first failure. (t.Error has a mutex, which would order the goroutines.)
func (w *world) fail(what string) { w.failure.CompareAndSwap(nil, &what) }

// check checks everything while no goroutine is at work: the invariants, and that just
// what the workers have is allocated.
func (w *world) check(workers []*worker) {
	w.t.Helper()
	if f := w.failure.Load(); f != nil {
		w.t.Fatal(*f)
	}
	var want, got []spec.Ptr
	for _, k := range workers {
		for _, p := range k.cached {
			want = append(want, p.ptr)
		}
	}
	for dev := range spec.Device(devices) {
		stats, err := w.a.Stats(dev)
		if err != nil {
			w.t.Fatal(err)
		}
		violations, err := w.checker.Check(dev, w.a, &stats)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, v := range violations {
			w.t.Errorf("device %d: %v", dev, v)
		}
		err = w.a.Inspect(dev, spec.Visitor{Block: func(b *spec.BlockView) {
			if b.Allocated {
				got = append(got, b.Address)
			}
		}})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		w.t.Errorf("%d blocks are allocated, the goroutines have %d", len(got), len(want))
	}
	if w.t.Failed() {
		w.t.FailNow()
	}
}

// finish frees everything and expects that nothing is left.
func (w *world) finish(workers []*worker) {
	w.t.Helper()
	w.driver.oneIn, w.driver.panics = 0, false
	for _, k := range workers {
		k.putAway()
	}
	for _, id := range pools {
		for dev := range spec.Device(devices) {
			_ = w.a.EndAllocateToPool(dev, id)
			for w.a.ReleasePool(dev, id) == nil {
			}
		}
	}
	w.gpu.DrainAll()
	for _, id := range pools {
		if err := w.a.EmptyPool(id); err != nil {
			w.t.Error(err)
		}
	}
	if err := w.a.Close(); err != nil {
		w.t.Error(err)
	}
	w.check(nil)
	leaks := slices.DeleteFunc(w.gpu.Leaks(), func(l string) bool { return strings.HasPrefix(l, "stream ") })
	if len(leaks) > 0 {
		w.t.Errorf("leaks:\n%s", strings.Join(leaks, "\n"))
	}
	if v := w.gpu.Violations(); len(v) > 0 {
		w.t.Error(v[0])
	}
}
