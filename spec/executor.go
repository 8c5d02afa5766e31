package spec

// An Executor is what a program does with a GPU beside allocating. Tests, graph
// trees and runs on real hardware share this vocabulary; fakegpu and cudaimpl
// implement it next to Driver.
//
// Work is given to a stream and runs some time later, in the stream's order. A
// launch names the bytes it reads and writes: a real device ignores that, the fake
// one checks them for hazards.
type Executor interface {
	// CreateStream makes a stream that does not wait for the default stream
	// (cudaStreamCreateWithFlags, non-blocking).
	CreateStream(dev Device) (Stream, error)

	// DestroyStream destroys a stream when its work has completed
	// (cudaStreamDestroy).
	DestroyStream(dev Device, stream Stream) error

	// Launch runs a kernel that touches the given ranges.
	Launch(l Launch) error

	// Fill sets a range to a byte (cudaMemsetAsync).
	Fill(dev Device, stream Stream, r Range, value byte) error

	// Copy copies bytes from one range to another of the same size, on the same
	// device or between peers (cudaMemcpyAsync, cudaMemcpyPeerAsync).
	Copy(c Copy) error

	// ReadBack waits for the stream and returns what the range then holds.
	ReadBack(dev Device, stream Stream, r Range) ([]byte, error)

	// WaitEvent makes the stream's later work wait for an event
	// (cudaStreamWaitEvent).
	WaitEvent(dev Device, stream Stream, ev EventHandle) error

	// BeginCapture starts putting the stream's work into a graph instead of
	// running it (cudaStreamBeginCapture). Streams that wait for an event of a
	// capturing stream join the capture.
	BeginCapture(dev Device, stream Stream, mode CaptureMode) error

	// EndCapture ends the capture on the stream that began it and returns the
	// graph (cudaStreamEndCapture). It fails if a stream that joined has not
	// been joined back, or if the capture was invalidated.
	EndCapture(dev Device, stream Stream) (Graph, error)

	// Instantiate makes a graph executable (cudaGraphInstantiate).
	Instantiate(g Graph) (GraphExec, error)

	// LaunchGraph runs the graph's work as one piece of the stream's
	// (cudaGraphLaunch).
	LaunchGraph(x GraphExec, dev Device, stream Stream) error

	// DestroyGraph and DestroyGraphExec destroy them (cudaGraphDestroy,
	// cudaGraphExecDestroy).
	DestroyGraph(g Graph) error
	DestroyGraphExec(x GraphExec) error
}

// Graph and GraphExec are driver handles.
type (
	Graph     uint64
	GraphExec uint64
)

// Range is a range of device addresses.
type Range struct {
	Ptr   Ptr
	Bytes uint64
}

// End is the first address after the range.
func (r Range) End() Ptr { return r.Ptr + Ptr(r.Bytes) }

// Overlaps reports whether the two ranges share a byte.
func (r Range) Overlaps(o Range) bool { return r.Ptr < o.End() && o.Ptr < r.End() }

// Contains reports whether every byte of o lies in r.
func (r Range) Contains(o Range) bool { return r.Ptr <= o.Ptr && o.End() <= r.End() }

// Launch is a kernel given to a stream.
type Launch struct {
	Device Device
	Stream Stream
	Name   string // for reports
	Reads  []Range
	Writes []Range
}

// Copy is a copy given to a stream of the device that performs it.
type Copy struct {
	Device    Device
	Stream    Stream
	Dst       Ptr
	DstDevice Device
	Src       Ptr
	SrcDevice Device
	Bytes     uint64
}
