package spec

// A Caller is who makes a call, as far as an allocator looks at it: its thread, and the stream
// that is current in the thread on a device. On other devices the default stream is current.
type Caller struct {
	Thread  Thread
	Current DeviceStream
}

// CallerAware is implemented by allocators whose decisions may depend on the caller.
type CallerAware interface {
	// For is the allocator as a caller uses it. It has the interfaces that the allocator has,
	// and no state of its own. A Malloc through it is made by Request.Thread with
	// Request.Stream as its current stream, as any other. Calls that do not come through For
	// are made by thread 0, in which the default streams are current.
	For(c Caller) Allocator
}

// CaptureMarker is implemented by allocators that are told of captures, as upstream's since
// 2.13: by markCaptureBegin behind cudaStreamBeginCapture, and by markCaptureEnd behind
// cudaStreamEndCapture, whether that succeeded or not. Whether anything depends on it, the
// release decides.
type CaptureMarker interface {
	// MarkCaptureBegin says that a capture has begun on a stream of the device.
	MarkCaptureBegin(dev Device) error
	// MarkCaptureEnd says that one has ended. If none is under way the error is an
	// *InvalidStateError, and nothing changes.
	MarkCaptureEnd(dev Device) error
}
