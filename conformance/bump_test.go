package conformance_test

import (
	"errors"
	"sync"

	"gaugeblock/spec"
	"gaugeblock/spec/trace"
)

// bump is the simplest allocator there is: it cuts what the driver gives from the front,
// and reuses nothing. A piece is returned to the driver when none of it is allocated any more
// and the cache is emptied. Since nothing is reused there is nothing to wait for.
type bump struct {
	driver spec.Driver

	mu     sync.Mutex
	pieces []*bumpPiece // oldest first; requests are cut from the last one of the device
	out    map[spec.Ptr]*bumpPiece
}

type bumpPiece struct {
	device spec.Device
	base   spec.Ptr
	bytes  uint64
	used   uint64 // from the front
	out    int    // allocations
}

func newBump(driver spec.Driver, _ *trace.Header) (spec.Allocator, error) {
	return &bump{driver: driver, out: map[spec.Ptr]*bumpPiece{}}, nil
}

func (b *bump) Malloc(r spec.Request) (spec.Ptr, error) {
	if err := b.known("malloc", r.Device); err != nil || r.Bytes == 0 {
		return 0, err
	}
	if r.Bytes >= spec.EiB {
		return 0, &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	bytes := (r.Bytes + 511) / 512 * 512
	p := b.last(r.Device)
	if p == nil || p.bytes-p.used < bytes {
		var err error
		if p, err = b.obtain(r.Device, max(bytes, 2*spec.MiB)); err != nil {
			return 0, outOfMemory(b.driver, r, max(bytes, 2*spec.MiB), err)
		}
	}
	ptr := p.base + spec.Ptr(p.used)
	p.used += bytes
	p.out++
	b.out[ptr] = p
	return ptr, nil
}

func (b *bump) last(dev spec.Device) *bumpPiece {
	for i := len(b.pieces) - 1; i >= 0; i-- {
		if b.pieces[i].device == dev {
			return b.pieces[i]
		}
	}
	return nil
}

func (b *bump) obtain(dev spec.Device, bytes uint64) (*bumpPiece, error) {
	base, err := b.driver.Malloc(dev, bytes)
	if err != nil {
		return nil, err
	}
	p := &bumpPiece{device: dev, base: base, bytes: bytes}
	b.pieces = append(b.pieces, p)
	return p, nil
}

// outOfMemory makes the error that the contract asks for of a driver's refusal.
func outOfMemory(driver spec.Driver, r spec.Request, bytes uint64, refused error) error {
	if !errors.Is(refused, spec.ErrDriverOutOfMemory) {
		return refused
	}
	free, total, err := driver.MemInfo(r.Device)
	if err != nil {
		return err
	}
	return &spec.OutOfMemoryError{Device: r.Device, Requested: r.Bytes, SegmentSize: bytes, DeviceTotal: total, DeviceFree: free}
}

func (b *bump) Free(p spec.Ptr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p == 0 {
		return nil
	}
	piece, out := b.out[p]
	if !out {
		return &spec.InvalidPointerError{Op: "free", Ptr: p}
	}
	piece.out--
	delete(b.out, p)
	return nil
}

func (b *bump) RecordStream(p spec.Ptr, dev spec.Device, _ spec.Stream) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, out := b.out[p]; !out && p != 0 {
		return &spec.InvalidPointerError{Op: "record_stream", Ptr: p}
	}
	return b.known("record_stream", dev)
}

func (b *bump) EmptyCache() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept []*bumpPiece
	var failed error
	for _, p := range b.pieces {
		if p.out > 0 || failed != nil {
			kept = append(kept, p)
		} else if failed = b.driver.Free(p.device, p.base); failed != nil {
			kept = append(kept, p)
		}
	}
	b.pieces = kept
	return failed
}

func (b *bump) known(op string, dev spec.Device) error {
	if dev < 0 || int(dev) >= b.driver.DeviceCount() {
		return &spec.InvalidArgumentError{Op: op, Reason: "there is no such device"}
	}
	return nil
}

func (b *bump) Stats(spec.Device) (spec.DeviceStats, error) {
	return spec.DeviceStats{}, &spec.NotSupportedError{Op: "statistics", Reason: "none are kept"}
}

func (b *bump) Snapshot() (spec.Snapshot, error) {
	return spec.Snapshot{}, &spec.NotSupportedError{Op: "snapshot", Reason: "there is none"}
}
