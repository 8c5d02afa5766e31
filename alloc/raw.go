package alloc

import "gaugeblock/spec"

// Upstream's raw entry points, for callers that keep no more than a pointer. A
// device and a stream are "current" in C++; here they are named.

// RawAlloc gives out memory on a device's default stream.
func (a *Allocator) RawAlloc(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	return a.RawAllocWithStream(dev, bytes, 0)
}

// RawAllocWithStream gives out memory on a stream.
func (a *Allocator) RawAllocWithStream(dev spec.Device, bytes uint64, stream spec.Stream) (spec.Ptr, error) {
	return a.Malloc(spec.Request{Device: dev, Stream: stream, Bytes: bytes})
}

// RawDelete takes memory back.
func (a *Allocator) RawDelete(p spec.Ptr) error { return a.Free(p) }
