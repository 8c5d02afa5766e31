package spec

// Caller is who makes a call, as far as an allocator looks at it. C++ can ask which thread is
// running and which stream is current for it; Go cannot, so the caller says it. The zero value is
// thread 0, for which the default stream is current on every device.
type Caller struct {
	Thread Thread
	// Current is the thread's current stream on one device (getCurrentCUDAStream). On every other
	// device it is the default stream.
	Current DeviceStream
}

// CurrentOn is the caller's current stream on a device.
func (c Caller) CurrentOn(dev Device) Stream {
	if c.Current.Device == dev {
		return c.Current.Stream
	}
	return 0
}

// CallerAware is an allocator that looks at who calls: at the current stream where it asks whether
// a capture is under way (CaptureMarker), and at the thread for the metadata of trace entries.
type CallerAware interface {
	// For returns the allocator for one caller. It is the same allocator, with the same optional
	// interfaces: Free, RecordStream, EmptyCache, EmptyPool, EndAllocateToPool, Checkpoint and
	// Restore are done for that caller. The methods of the allocator itself are those of the zero
	// Caller. A Malloc has its thread in the Request, and the request's stream counts as current.
	// (A type that embeds an allocator, and changes a method, needs a For of its own: the embedded
	// one returns the allocator without the change.)
	For(c Caller) Allocator
}

// CaptureMarker is told which captures are under way (upstream: markCaptureBegin, markCaptureEnd).
// A program that captures a stream marks the capture after it has begun and after it has ended.
type CaptureMarker interface {
	// MarkCaptureBegin says that a capture has begun on a device. Several can be under way.
	MarkCaptureBegin(dev Device) error

	// MarkCaptureEnd says that a capture has ended. If none is marked as under way, it is an
	// InvalidStateError.
	MarkCaptureEnd(dev Device) error
}
