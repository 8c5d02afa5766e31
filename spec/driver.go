package spec

// A Driver is one process's view of its GPUs: the few calls that a caching
// allocator makes of CUDA, and nothing more. Every method says which CUDA call
// it stands for.
//
// # Rules that hold for every method
//
// Errors. A method that fails changes nothing, and returns an error that wraps a
// *DriverError naming the call. Exhausted memory is told apart from every other
// failure: errors.Is(err, ErrDriverOutOfMemory). What a method returns belongs to
// the caller; what it is given it does not keep.
//
// Blocking. Malloc, Free and the Synchronize calls may block until the device has
// caught up; the others do not wait for the device.
//
// Capture. While a stream is being captured into a graph, the device does not run
// the stream's work, so asking for its progress makes no sense: QueryEvent,
// SynchronizeEvent and SynchronizeStream on a capturing stream fail, and the
// capture is invalidated, as on the real thing. Malloc is legal during capture
// (an implementation relaxes the capture mode of the calling thread around it).
// Free is legal unless FreeForbidden says otherwise.
//
// Concurrency. All methods may be called from several goroutines at once.
type Driver interface {
	// DeviceCount is the number of devices (cudaGetDeviceCount). Devices are
	// numbered from 0 and do not come or go.
	DeviceCount() int

	// Properties tells what does not change about a device
	// (cudaGetDeviceProperties).
	Properties(dev Device) (DeviceProperties, error)

	// Malloc obtains bytes of device memory in one piece (cudaMalloc). The
	// address is a multiple of 512 at least, and never zero. bytes is not zero.
	Malloc(dev Device, bytes uint64) (Ptr, error)

	// Free returns a piece that Malloc gave (cudaFree). It implies that work
	// which uses the piece has completed: it waits for the whole device.
	Free(dev Device, ptr Ptr) error

	// MemInfo tells how many bytes of the device are free for anyone, and how
	// many there are (cudaMemGetInfo).
	MemInfo(dev Device) (free, total uint64, err error)

	// CreateEvent makes an event without timing (cudaEventCreateWithFlags). It
	// has not been recorded, and counts as complete.
	CreateEvent(dev Device) (EventHandle, error)

	// RecordEvent moves the event to the present end of the stream
	// (cudaEventRecord). dev is the stream's device, which must be the device
	// that the event was created for.
	RecordEvent(ev EventHandle, dev Device, stream Stream) error

	// QueryEvent reports whether all work before the event has completed
	// (cudaEventQuery; "not ready" is an answer here, not an error). A true
	// answer orders that work before whatever the caller does next.
	QueryEvent(ev EventHandle) (complete bool, err error)

	// SynchronizeEvent waits until QueryEvent would answer true
	// (cudaEventSynchronize).
	SynchronizeEvent(ev EventHandle) error

	// DestroyEvent gives the event back (cudaEventDestroy).
	DestroyEvent(ev EventHandle) error

	// SynchronizeStream waits for everything in the stream
	// (cudaStreamSynchronize).
	SynchronizeStream(dev Device, stream Stream) error

	// SynchronizeDevice waits for everything on the device
	// (cudaDeviceSynchronize).
	SynchronizeDevice(dev Device) error

	// CaptureStatus tells whether the stream is being captured, in which
	// capture, and the nodes that the stream's next node would depend on
	// (cudaStreamGetCaptureInfo).
	CaptureStatus(dev Device, stream Stream) (CaptureInfo, error)

	// NodeDependencies lists the nodes that a node of a graph under capture
	// directly depends on (cudaGraphNodeGetDependencies).
	NodeDependencies(node GraphNode) ([]GraphNode, error)

	// FreeForbidden reports whether a capture is under way, in any stream of
	// the process, whose mode makes Free and UnmapPage illegal for this caller
	// (any mode but CaptureRelaxed). CUDA has no such call: an implementation
	// knows because captures begin through its Executor.
	FreeForbidden() bool
}

// DeviceProperties is what does not change about a device.
type DeviceProperties struct {
	Name        string
	TotalMemory uint64 // bytes of physical memory
	// RDMAWithVirtualMemory: pages may be marked as usable for GPUDirect RDMA
	// (CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED).
	RDMAWithVirtualMemory bool
}

// CaptureStatus is what a driver says about a stream and graph capture.
type CaptureInfo struct {
	Status    CaptureStatus
	ID        CaptureID   // zero unless the stream is capturing
	Graph     Graph       // the graph that is being built
	Terminals []GraphNode // what the stream's next node will depend on
}

// CaptureState tells whether a stream is being captured.
type CaptureStatus int

const (
	// CaptureNone: the stream's work runs as usual.
	CaptureNone CaptureStatus = iota
	// CaptureActive: the stream's work goes into a graph.
	CaptureActive
	// CaptureInvalidated: something illegal was done during the capture; it can
	// only be ended, and yields no graph.
	CaptureInvalidated
)

// CaptureMode says what is illegal, and for whom, while a capture is under way
// (cudaStreamCaptureMode).
type CaptureMode int

const (
	// CaptureGlobal: calls that may synchronize or free are illegal in every
	// thread of the process.
	CaptureGlobal CaptureMode = iota
	// CaptureThreadLocal: they are illegal in the thread that began it.
	CaptureThreadLocal
	// CaptureRelaxed: they are legal everywhere.
	CaptureRelaxed
)

// String is the mode's name in traces.
func (m CaptureMode) String() string {
	switch m {
	case CaptureGlobal:
		return "global"
	case CaptureThreadLocal:
		return "thread_local"
	case CaptureRelaxed:
		return "relaxed"
	}
	return "unknown"
}

// VirtualMemory is the ability to reserve addresses apart from the memory behind
// them, which expandable segments need.
type VirtualMemory interface {
	// ReserveAddress sets aside an address range that nothing backs yet
	// (cuMemAddressReserve). dev is the device it is meant for.
	ReserveAddress(dev Device, bytes uint64) (Ptr, error)

	// FreeAddress gives back a range as it was reserved, with nothing mapped in
	// it (cuMemAddressFree).
	FreeAddress(ptr Ptr, bytes uint64) error

	// CreatePage obtains bytes of physical memory, not mapped anywhere, that can
	// be shared in the given way (cuMemCreate). An unsupported way of sharing is
	// an error that is not ErrDriverOutOfMemory.
	CreatePage(dev Device, bytes uint64, share ShareType) (PageHandle, error)

	// ReleasePage gives up the caller's hold on the memory; it is free when it
	// is not mapped either (cuMemRelease).
	ReleasePage(page PageHandle) error

	// MapPage puts the whole page at an address of a reserved range (cuMemMap).
	// No device may touch it yet.
	MapPage(ptr Ptr, bytes uint64, page PageHandle) error

	// SetAccess lets a device read and write a mapped range (cuMemSetAccess).
	SetAccess(ptr Ptr, bytes uint64, dev Device) error

	// UnmapPage takes one page out of its range (cuMemUnmap). It does not wait
	// for work that uses the range: the caller does, before.
	UnmapPage(ptr Ptr, bytes uint64) error
}

// ShareType is a way in which a page's memory can be handed to another process.
type ShareType int

const (
	// SharePOSIX: a file descriptor (CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR).
	SharePOSIX ShareType = iota
	// ShareFabric: a fabric handle (CU_MEM_HANDLE_TYPE_FABRIC).
	ShareFabric
)

// String is the name used in messages.
func (t ShareType) String() string {
	if t == ShareFabric {
		return "fabric"
	}
	return "posix file descriptor"
}

// MemorySharing is the ability to hand memory to another process.
type MemorySharing interface {
	// ProcessID is the number that another process can find this one by.
	ProcessID() uint64

	// ShareMemory makes a handle of a piece that Malloc gave
	// (cudaIpcGetMemHandle).
	ShareMemory(dev Device, ptr Ptr) ([]byte, error)

	// OpenMemory makes another process's piece accessible
	// (cudaIpcOpenMemHandle). A handle may be open once at a time.
	OpenMemory(dev Device, handle []byte) (Ptr, error)

	// CloseMemory ends what OpenMemory began (cudaIpcCloseMemHandle).
	CloseMemory(dev Device, ptr Ptr) error

	// ExportPage makes a handle of a page (cuMemExportToShareableHandle).
	ExportPage(page PageHandle, share ShareType) ([]byte, error)

	// ImportPage makes a page of another process's handle, which process pid
	// exported (cuMemImportFromShareableHandle, with pidfd_getfd for a file
	// descriptor). The caller releases it with ReleasePage.
	ImportPage(pid uint64, share ShareType, handle []byte) (PageHandle, error)
}

// PeerAccess is the ability of one device to reach another's memory.
type PeerAccess interface {
	// CanAccessPeer reports whether dev can reach peer's memory directly
	// (cudaDeviceCanAccessPeer).
	CanAccessPeer(dev, peer Device) (bool, error)

	// EnablePeerAccess makes everything that Malloc gives on peer reachable from
	// dev (cudaDeviceEnablePeerAccess). Doing it twice is not an error.
	EnablePeerAccess(dev, peer Device) error
}
