package concurrent

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// garbageDriver sometimes returns nonsense. It has no state that is written while the
// goroutines run.
type garbageDriver struct {
	*failingDriver
	nonsense int      // one time in this number; 0: never
	known    spec.Ptr // an address that the driver has returned
}

func (d *garbageDriver) now() bool { return d.nonsense > 0 && rand.IntN(d.nonsense) == 0 }

// address is one that no driver returns: none, not aligned, at the end of all addresses, or that
// of other memory, or beside it. No two devices have the same, for an allocator looks at the
// memory of one device.
func (d *garbageDriver) address(dev spec.Device) spec.Ptr {
	near := d.known + spec.Ptr(rand.IntN(64))*2*spec.Ptr(spec.MiB)
	all := []spec.Ptr{0, 1, 511, 512, math.MaxUint64, math.MaxUint64 - 511, math.MaxUint64 - spec.Ptr(2*spec.MiB) + 1, 1 << 62, near, near + 512, near + 7, near - 512}
	p := all[rand.IntN(len(all))]
	if p == 0 || p > 1<<63 {
		return p
	}
	return p + spec.Ptr(dev)<<56
}

func (d *garbageDriver) Malloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if d.now() {
		return d.address(dev), nil
	}
	return d.failingDriver.Malloc(dev, bytes)
}

func (d *garbageDriver) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	if d.now() {
		return d.address(dev), nil
	}
	return d.failingDriver.ReserveAddress(dev, bytes)
}

func (d *garbageDriver) OpenMemory(dev spec.Device, handle []byte) (spec.Ptr, error) {
	if d.now() {
		return d.address(dev), nil
	}
	return d.failingDriver.OpenMemory(dev, handle)
}

func (d *garbageDriver) CreatePage(dev spec.Device, bytes uint64, share spec.ShareType) (spec.PageHandle, error) {
	if d.now() && share == spec.SharePOSIX { // the other kind would be tried once and then always
		return spec.PageHandle(rand.Uint64N(3)), nil
	}
	return d.failingDriver.CreatePage(dev, bytes, share)
}

func (d *garbageDriver) CreateEvent(dev spec.Device) (spec.EventHandle, error) {
	if d.now() {
		return oddEvent + spec.EventHandle(rand.Uint64N(3)), nil
	}
	return d.failingDriver.CreateEvent(dev)
}

// oddEvent is the first of some events that the device does not have.
const oddEvent = spec.EventHandle(1 << 60)

func (d *garbageDriver) RecordEvent(e spec.EventHandle, dev spec.Device, s spec.Stream) error {
	if e >= oddEvent {
		return nil
	}
	return d.failingDriver.RecordEvent(e, dev, s)
}

func (d *garbageDriver) QueryEvent(e spec.EventHandle) (bool, error) {
	if e >= oddEvent {
		return true, nil
	}
	return d.failingDriver.QueryEvent(e)
}

func (d *garbageDriver) SynchronizeEvent(e spec.EventHandle) error {
	if e >= oddEvent {
		return nil
	}
	return d.failingDriver.SynchronizeEvent(e)
}

func (d *garbageDriver) DestroyEvent(e spec.EventHandle) error {
	if e >= oddEvent {
		return nil
	}
	return d.failingDriver.DestroyEvent(e)
}

func (d *garbageDriver) MemInfo(dev spec.Device) (free, total uint64, err error) {
	if d.now() {
		return rand.Uint64(), rand.Uint64(), nil
	}
	return d.failingDriver.MemInfo(dev)
}

func (d *garbageDriver) CaptureStatus(dev spec.Device, stream spec.Stream) (spec.CaptureInfo, error) {
	if d.now() {
		return spec.CaptureInfo{Status: spec.CaptureStatus(rand.IntN(5)), ID: spec.CaptureID(rand.IntN(3)), Terminals: []spec.GraphNode{0, 1 << 62}}, nil
	}
	return d.failingDriver.CaptureStatus(dev, stream)
}

// NodeDependencies are a cycle.
func (d *garbageDriver) NodeDependencies(node spec.GraphNode) ([]spec.GraphNode, error) {
	if d.now() {
		return []spec.GraphNode{node, 0}, nil
	}
	return d.failingDriver.NodeDependencies(node)
}

func (d *garbageDriver) FreeForbidden() bool { return d.now() || d.failingDriver.FreeForbidden() }

// Free takes everything: what the device does not have is nonsense that was returned before.
func (d *garbageDriver) Free(dev spec.Device, p spec.Ptr) error {
	_ = d.GPU.Free(dev, p)
	return nil
}

// ReleasePage and FreeAddress take everything as well.
func (d *garbageDriver) ReleasePage(page spec.PageHandle) error {
	_ = d.GPU.ReleasePage(page)
	return nil
}

// FreeAddress: see ReleasePage.
func (d *garbageDriver) FreeAddress(p spec.Ptr, bytes uint64) error {
	_ = d.GPU.FreeAddress(p, bytes)
	return nil
}

// poolMemory is the memory of a pool.
type poolMemory struct{ *garbageDriver }

func (m poolMemory) Allocate(dev spec.Device, bytes uint64, _ spec.Stream) (spec.Ptr, error) {
	return m.Malloc(dev, bytes)
}

func (m poolMemory) Free(dev spec.Device, p spec.Ptr, _ uint64, _ spec.Stream) error {
	return m.garbageDriver.Free(dev, p)
}

// TestGarbage: while all goroutines call every method the driver, and the memory of a pool, return
// nonsense. There is no panic and no end of it is waited for; errors are those of package spec; no
// two owners have the same memory; when all rest the invariants hold; and when the driver is right
// again so is the allocator.
func TestGarbage(t *testing.T) {
	w := newWorld(t)
	known, err := w.gpu.Malloc(0, 512)
	if err != nil {
		t.Fatal(err)
	}
	d := &garbageDriver{failingDriver: w.driver, known: known}
	if w.a, err = alloc.New(d, alloc.Options{}); err != nil {
		t.Fatal(err)
	}
	for dev := range spec.Device(devices) {
		if err := w.a.CreatePool(dev, pools[0], spec.PoolOptions{Memory: poolMemory{d}}); err != nil {
			t.Fatal(err)
		}
	}
	w.mayReturnGarbage = true
	workers := newWorkers(w, 7)
	for round := range 2 * len(focuses) {
		d.nonsense, d.oneIn = []int{3, 20}[round%2], 20
		deck := deck(focuses[round%len(focuses)])
		if round%3 == 0 {
			_ = w.a.Configure("expandable_segments:True")
		}
		doAtOnce(workers, deck, 150)
		w.check(workers)
		checkOwners(t, workers)
	}
	d.nonsense, d.oneIn = 0, 0
	w.testServes(workers)
}

// testServes expects that requests are served. The driver has memory for them again, and an address
// that was taken for memory may meet one of its own.
func (w *world) testServes(workers []*worker) {
	w.t.Helper()
	w.a.Enable(true)
	for _, id := range pools {
		for dev := range spec.Device(devices) {
			_ = w.a.EndAllocateToPool(dev, id)
		}
	}
	for _, k := range workers {
		k.putAway()
	}
	if err := w.a.EmptyCache(); err != nil {
		w.t.Error(err)
	}
	var last error
	served := &worker{world: w}
	for range 20 {
		p, err := w.a.Malloc(spec.Request{Bytes: 3 * spec.MiB})
		if err != nil {
			last = err
			continue
		}
		served.cached = append(served.cached, allocation{p, 0})
	}
	if len(served.cached) == 0 {
		w.t.Errorf("no request is served when the driver is right again: %v", last)
	}
	w.check(append(workers, served))
}

// checkOwners fails if two have the same memory.
func checkOwners(t *testing.T, workers []*worker) {
	t.Helper()
	owners := map[spec.Ptr]int{}
	for _, k := range workers {
		for _, p := range append(append([]allocation(nil), k.cached...), k.uncached...) {
			if owners[p.ptr]++; owners[p.ptr] == 2 {
				t.Errorf("%v has two owners", p.ptr)
			}
			if p.ptr == 0 {
				t.Error("null was allocated")
			}
		}
	}
}

// isTyped reports whether an error is one of package spec.
func isTyped(err error) bool {
	var argument *spec.InvalidArgumentError
	var pointer *spec.InvalidPointerError
	var lacks *spec.NotSupportedError
	return isDriverError(err) || errors.As(err, &argument) || errors.As(err, &pointer) || errors.As(err, &lacks)
}
