package pluggable

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"gaugeblock/alloc"
	"gaugeblock/spec"
)

// Captures that somebody else begins. An allocator must not free memory while a capture
// is under way that forbids it. A plugged-in allocator is not told of captures; PyTorch's
// begin on streams of its own, in a mode of its own. But the driver says of a stream
// whether it is being captured, and a stream that matters is one that memory was asked for
// or used on. So those are remembered, and asked about; what mode it is cannot be asked, so
// every capture counts as one that forbids.

// Since 2.13 what counts as a capture is that of the calling thread's current stream, if it is marked.
// CUDAGraph marks each of its captures right after it has begun and right after it has ended. A plugged-in
// allocator hears of neither mark; but the driver says the same, so a mark stands on each device as long as the
// library is there. Which stream is current cannot be asked: in a malloc it is the request's, in other calls one
// that was seen and is being captured, while there is one. So a thread beside a capture counts as part of it,
// as it did until 2.12.

// markCaptures marks captures, if the allocator looks at marks.
func (l *Library) markCaptures() (err error) {
	for dev := range spec.Device(l.device.DeviceCount()) {
		if l.looks {
			err = errors.Join(err, l.allocator.MarkCaptureBegin(dev))
		}
	}
	return err
}

// caller is the allocator for a thread that calls anything but malloc.
func (l *Library) caller() alloc.Abilities {
	if !l.looks {
		return l.allocator
	}
	for _, s := range l.seen.all() {
		if l.device.StreamCaptured(s.device, s.handle) {
			current := spec.DeviceStream{Device: s.device, Stream: s.handle}
			return l.allocator.For(spec.Caller{Current: current}).(alloc.Abilities)
		}
	}
	return l.allocator
}

// streamSet is streams with their devices. It only grows: programs make few streams.
type streamSet struct {
	mu      sync.Mutex
	streams atomic.Pointer[[]streamOf]
}

type streamOf struct {
	device spec.Device
	handle spec.Stream
}

func (t *streamSet) all() []streamOf {
	if all := t.streams.Load(); all != nil {
		return *all
	}
	return nil
}

// add is called with every request, and so takes no lock for a stream that is known.
func (t *streamSet) add(dev spec.Device, s spec.Stream) {
	is := streamOf{dev, s}
	if slices.Contains(t.all(), is) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if all := t.all(); !slices.Contains(all, is) {
		more := append(slices.Clone(all), is)
		t.streams.Store(&more)
	}
}

// watchful is a device that knows of captures on streams that were seen, and tells the log which
// address ranges it has reserved.
type watchful struct {
	Device
	seen    *streamSet
	library *Library
}

// ReserveAddress implements spec.VirtualMemory.
func (w watchful) ReserveAddress(dev spec.Device, bytes uint64) (spec.Ptr, error) {
	base, err := w.Device.ReserveAddress(dev, bytes)
	if err == nil && w.library.log != nil {
		w.library.log.reserved(dev, spec.Range{Ptr: base, Bytes: bytes})
	}
	return base, err
}

// FreeForbidden implements spec.Driver.
func (w watchful) FreeForbidden() bool {
	return w.Device.FreeForbidden() || slices.ContainsFunc(w.seen.all(), func(s streamOf) bool {
		return w.StreamCaptured(s.device, s.handle)
	})
}
