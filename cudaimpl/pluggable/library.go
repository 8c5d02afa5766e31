package pluggable

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"gaugeblock/alloc"
	"gaugeblock/spec"
	"gaugeblock/spec/trace"
	"gaugeblock/upstream"
)

// A Device is what a library is made on. *cudaimpl.GPU is one.
type Device interface {
	spec.Driver
	spec.VirtualMemory
	spec.MemorySharing
	spec.PeerAccess

	// StreamDevice is the device that a stream is of: RecordStream names
	// the stream only.
	StreamDevice(s spec.Stream) (spec.Device, error)
	// StreamCaptured reports whether a stream takes part in a capture, whoever began it.
	StreamCaptured(dev spec.Device, s spec.Stream) bool
}

// A Library is the reference behind the functions of a plugged-in allocator. The
// functions of C can return no error: what went wrong is kept, see LastError.
type Library struct {
	device    Device
	seen      *streamSet
	allocator *alloc.Allocator
	looks     bool   // at captures, and the current stream: see captures.go
	log       *opLog // nil: no log is kept
	failure   atomic.Pointer[error]
}

// Environment is what the environment says.
type Environment struct {
	Settings string // PYTORCH_ALLOC_CONF, or PYTORCH_CUDA_ALLOC_CONF, as it was called before
	Uncached bool   // PYTORCH_NO_CUDA_MEMORY_CACHING is 1
	Trace    string // GAUGEBLOCK_TRACE: the file to write a trace of all calls to
	Release  string // GAUGEBLOCK_RELEASE: the release of PyTorch that is followed, such as 2.15; "": 2.11
}

// ReadEnvironment reads it, variable by variable.
func ReadEnvironment(get func(string) string) Environment {
	return Environment{
		Settings: cmp.Or(get("PYTORCH_ALLOC_CONF"), get("PYTORCH_CUDA_ALLOC_CONF")),
		Uncached: get("PYTORCH_NO_CUDA_MEMORY_CACHING") == "1",
		Trace:    get("GAUGEBLOCK_TRACE"),
		Release:  get("GAUGEBLOCK_RELEASE"),
	}
}

// release is the one that is followed.
func (env *Environment) release() (upstream.Release, error) {
	if env.Release == "" {
		r, _ := upstream.OldestWith(upstream.Rules{})
		return r, nil
	}
	r, known := upstream.Find(env.Release)
	if !known {
		reason := fmt.Sprintf("GAUGEBLOCK_RELEASE: no release %q is known; the newest is %s", env.Release, upstream.Newest().Name)
		return r, &spec.InvalidArgumentError{Op: "new library", Reason: reason}
	}
	return r, nil
}

// NewLibrary makes the allocator.
func NewLibrary(d Device, env Environment) (*Library, error) {
	release, err := env.release()
	if err != nil {
		return nil, err
	}
	l := &Library{device: d, seen: &streamSet{}, looks: release.Rules.Captures == upstream.CapturesByMark}
	l.allocator, err = alloc.New(watchful{d, l.seen, l}, alloc.Options{Settings: env.Settings, Uncached: env.Uncached, Rules: release.Rules})
	if err == nil {
		err = l.markCaptures()
	}
	if err != nil || env.Trace == "" {
		return l, err
	}
	if l.log, err = newLog(env.Trace, d, env.Settings, release); err != nil {
		return nil, err
	}
	l.allocator.OnTrace(func(e spec.HistoryEntry) { l.log.observe(e.TraceEntry) })
	return l, nil
}

// do performs an operation, in the log if there is one, and keeps what went wrong.
func (l *Library) do(op *trace.Op, perform func() error) error {
	var err error
	if l.log == nil {
		err = perform()
	} else {
		err = l.log.write(op, perform)
	}
	if err != nil {
		l.failure.Store(&err)
	}
	return err
}

// LastError is what went wrong last; nil if nothing has.
func (l *Library) LastError() error {
	if e := l.failure.Load(); e != nil {
		return *e
	}
	return nil
}

// Malloc allocates memory. The null pointer says that there is none, unless no bytes
// were asked for.
func (l *Library) Malloc(bytes uint64, dev spec.Device, s spec.Stream) spec.Ptr {
	l.seen.add(dev, s)
	r := spec.Request{Device: dev, Stream: s, Bytes: bytes}
	if l.log == nil { // the way that is taken often
		p, err := l.allocator.Malloc(r)
		if err != nil {
			l.failure.Store(&err)
		}
		return p
	}
	var p spec.Ptr
	op := &trace.Op{Kind: trace.OpMalloc, Device: dev, Size: bytes}
	_ = l.do(op, func() (err error) {
		op.Stream = l.log.stream(s)
		p, err = l.allocator.Malloc(r)
		l.log.returned(p, err)
		return err
	})
	return p
}

// Free frees memory.
func (l *Library) Free(p spec.Ptr) {
	if l.log == nil {
		if err := l.caller().Free(p); err != nil {
			l.failure.Store(&err)
		}
		return
	}
	_ = l.do(&trace.Op{Kind: trace.OpFree}, func() error {
		l.log.about(p, true)
		return l.caller().Free(p)
	})
}

// RecordStream adds a stream use.
func (l *Library) RecordStream(p spec.Ptr, s spec.Stream) {
	dev, err := l.device.StreamDevice(s)
	if err != nil {
		l.failure.Store(&err)
		return
	}
	l.seen.add(dev, s)
	op := &trace.Op{Kind: trace.OpRecordStream, Device: dev}
	_ = l.do(op, func() error {
		if l.log != nil {
			op.Stream = l.log.stream(s)
			l.log.about(p, false)
		}
		return l.caller().RecordStream(p, dev, s)
	})
}

// Reset returns cached memory to the driver.
func (l *Library) Reset() { _ = l.do(&trace.Op{Kind: trace.OpEmptyCache}, l.caller().EmptyCache) }

// MemoryFraction limits what is held of a device.
func (l *Library) MemoryFraction(fraction float64, dev spec.Device) {
	op := &trace.Op{Kind: trace.OpSetMemoryFraction, Device: dev, Fraction: fraction}
	_ = l.do(op, func() error {
		properties, err := l.device.Properties(dev)
		if err != nil {
			return err
		}
		op.Allowed = uint64(fraction * float64(properties.TotalMemory))
		return l.allocator.SetMemoryFraction(dev, fraction)
	})
}

// BaseAllocation is the driver's piece around a pointer; null if there is none.
func (l *Library) BaseAllocation(p spec.Ptr) (base spec.Ptr, bytes uint64) {
	base, bytes, err := l.allocator.BaseAllocation(p)
	if err != nil {
		l.failure.Store(&err)
	}
	return base, bytes
}

// BeginAllocateToPool routes the requests for the streams that the filter accepts to a pool.
func (l *Library) BeginAllocateToPool(dev spec.Device, id spec.PoolID, filter func(spec.Stream) bool) {
	op := &trace.Op{Kind: trace.OpPoolBegin, Device: dev, Pool: id, By: trace.ByThread}
	_ = l.do(op, func() error {
		accepts := func(r spec.Request) bool { return filter(r.Stream) }
		if l.log != nil {
			accepts = l.log.watchFilter(accepts)
		}
		return l.allocator.BeginAllocateToPool(dev, id, accepts)
	})
}

// EndAllocateToPool ends that.
func (l *Library) EndAllocateToPool(dev spec.Device, id spec.PoolID) {
	_ = l.do(&trace.Op{Kind: trace.OpPoolEnd, Device: dev, Pool: id}, func() error { return l.caller().EndAllocateToPool(dev, id) })
}

// ReleasePool lowers the use count of a pool.
func (l *Library) ReleasePool(dev spec.Device, id spec.PoolID) {
	_ = l.do(&trace.Op{Kind: trace.OpPoolRelease, Device: dev, Pool: id}, func() error { return l.allocator.ReleasePool(dev, id) })
}

// EnablePeerAccess gives a device access to the memory of another, expandable segments too. PyTorch tells a
// plugged-in allocator nothing of it, and gives access to what cudaMalloc returned alone.
func (l *Library) EnablePeerAccess(dev, peer spec.Device) {
	op := &trace.Op{Kind: trace.OpPeerAccess, Device: dev, Peer: peer}
	_ = l.do(op, func() error { return l.allocator.EnablePeerAccess(dev, peer) })
}

// Stats are a device's statistics in JSON, by the keys of torch.cuda.memory_stats.
func (l *Library) Stats(dev spec.Device) ([]byte, error) {
	stats, err := l.allocator.Stats(dev)
	if err != nil {
		return nil, err
	}
	return json.Marshal(stats.Map())
}

// ResetPeakStats starts a device's peaks anew.
func (l *Library) ResetPeakStats(dev spec.Device) {
	_ = l.do(&trace.Op{Kind: trace.OpResetPeak, Device: dev}, func() error { return l.allocator.ResetPeakStats(dev) })
}

// CloseLog writes the trace, if a log is kept.
func (l *Library) CloseLog() error {
	if l.log == nil {
		return nil
	}
	return l.log.close()
}

// Close returns to the driver all that can go, after CloseLog.
func (l *Library) Close() error { return errors.Join(l.CloseLog(), l.allocator.Close()) }
