package spec

// A Driver is one process's view of its GPUs: the few calls that a caching
// allocator makes of CUDA, and nothing more. Every method says which CUDA call
// it stands for.
//
// # Rules that hold for every method
//
// Errors. A method that fails changes nothing, except that it can invalidate a
// capture (see below). Its error wraps a *DriverError naming the call. If the device
// has no memory for the call, errors.Is(err, ErrDriverOutOfMemory) holds. The caller
// owns slices that a method returns; a method does not keep slices that it is passed.
//
// Blocking. Malloc, Free and the Synchronize calls may block until the device's work
// has completed; the others do not wait for the device.
//
// Capture. While a stream is being captured into a graph, the device does not run
// the stream's work. QueryEvent and SynchronizeEvent of an event that was last recorded
// in a capturing stream, SynchronizeStream of a capturing stream, and SynchronizeDevice
// of its device fail and invalidate the capture, as in CUDA. Malloc is legal during a
// capture (an implementation sets the capture mode of the calling thread to relaxed
// meanwhile). Free, UnmapPage, QueryEvent and the Synchronize calls are also illegal,
// for whatever stream, while FreeForbidden returns true.
//
// Concurrency. All methods may be called from several goroutines at once. An allocator
// holds a mutex while it calls them: see Allocator.
type Driver interface {
	// DeviceCount is the number of devices (cudaGetDeviceCount). Devices are
	// numbered from 0 and do not come or go.
	DeviceCount() int

	// Properties returns what does not change about a device
	// (cudaGetDeviceProperties).
	Properties(dev Device) (DeviceProperties, error)

	// Malloc obtains bytes of device memory in one piece (cudaMalloc). The
	// address is a multiple of 512 at least, and never zero. bytes is not zero.
	Malloc(dev Device, bytes uint64) (Ptr, error)

	// Free frees a piece of memory that Malloc has returned (cudaFree). It waits for
	// the whole device, so work that uses the piece has completed then.
	Free(dev Device, ptr Ptr) error

	// MemInfo returns how many bytes of the device are free, and how many it has
	// (cudaMemGetInfo).
	MemInfo(dev Device) (free, total uint64, err error)

	// CreateEvent makes an event without timing (cudaEventCreateWithFlags). It
	// has not been recorded, and counts as complete.
	CreateEvent(dev Device) (EventHandle, error)

	// RecordEvent records the event at the present end of the stream
	// (cudaEventRecord). dev is the stream's device, which must be the device
	// that the event was created for.
	RecordEvent(ev EventHandle, dev Device, stream Stream) error

	// QueryEvent reports whether all work before the event has completed
	// (cudaEventQuery; cudaErrorNotReady is false here, not an error). If it returns
	// true, that work is ordered before whatever the caller does next.
	QueryEvent(ev EventHandle) (complete bool, err error)

	// SynchronizeEvent waits until QueryEvent would return true
	// (cudaEventSynchronize).
	SynchronizeEvent(ev EventHandle) error

	// DestroyEvent destroys the event (cudaEventDestroy).
	DestroyEvent(ev EventHandle) error

	// SynchronizeStream waits for everything in the stream
	// (cudaStreamSynchronize).
	SynchronizeStream(dev Device, stream Stream) error

	// SynchronizeDevice waits for everything on the device
	// (cudaDeviceSynchronize).
	SynchronizeDevice(dev Device) error

	// CaptureStatus returns whether the stream is being captured, in which
	// capture, and the nodes that the stream's next node would depend on
	// (cudaStreamGetCaptureInfo). Traces name the call by this name.
	CaptureStatus(dev Device, stream Stream) (CaptureInfo, error)

	// NodeDependencies lists the nodes that a node of a graph under capture
	// directly depends on (cudaGraphNodeGetDependencies).
	NodeDependencies(node GraphNode) ([]GraphNode, error)

	// FreeForbidden reports whether Free, UnmapPage, QueryEvent and the Synchronize
	// calls are illegal for every stream and event, because a capture is under way
	// whose mode forbids potentially unsafe calls (cudaStreamCaptureMode). They would
	// fail and invalidate that capture. It is true if any stream of the process is
	// captured in a mode other than CaptureRelaxed. In CaptureThreadLocal CUDA forbids
	// them only to the thread that began the capture; the method does not know the
	// calling thread, so it returns true for all. CUDA has no such call: an
	// implementation knows because captures begin through its Executor.
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

// CaptureInfo is what a driver returns about a stream and graph capture (upstream:
// CaptureInfo, of cudaStreamGetCaptureInfo).
type CaptureInfo struct {
	Status    CaptureStatus
	ID        CaptureID   // zero unless the stream is capturing
	Graph     Graph       // the graph that is being built
	Terminals []GraphNode // what the stream's next node will depend on
}

// CaptureStatus tells whether a stream is being captured (cudaStreamCaptureStatus).
type CaptureStatus int

const (
	// CaptureNone: the stream's work runs as usual.
	CaptureNone CaptureStatus = iota
	// CaptureActive: the stream's work goes into a graph.
	CaptureActive
	// CaptureInvalidated: an illegal call was made during the capture; the capture can
	// only be ended, and yields no graph. What an allocator does until then is in
	// CaptureInvalidatedError.
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
	// ReserveAddress reserves an address range, without memory
	// (cuMemAddressReserve). dev is the device whose pages will be mapped into it.
	ReserveAddress(dev Device, bytes uint64) (Ptr, error)

	// FreeAddress frees a range as it was reserved, with nothing mapped in it
	// (cuMemAddressFree).
	FreeAddress(ptr Ptr, bytes uint64) error

	// CreatePage obtains bytes of physical memory, not mapped anywhere, that can
	// be shared in the given way (cuMemCreate). An unsupported way of sharing is
	// an error that is not ErrDriverOutOfMemory.
	CreatePage(dev Device, bytes uint64, share ShareType) (PageHandle, error)

	// ReleasePage releases the caller's reference to the memory, which is freed when
	// it is not mapped either (cuMemRelease).
	ReleasePage(page PageHandle) error

	// MapPage maps the whole page at an address of a reserved range (cuMemMap).
	// No device can access it yet.
	MapPage(ptr Ptr, bytes uint64, page PageHandle) error

	// SetAccess lets a device read and write a mapped range (cuMemSetAccess).
	SetAccess(ptr Ptr, bytes uint64, dev Device) error

	// UnmapPage unmaps one page (cuMemUnmap). It does not wait for work that uses the
	// page: the caller does, before.
	UnmapPage(ptr Ptr, bytes uint64) error
}

// FabricAsker is a driver that can tell whether pages can have fabric handles (upstream:
// get_fabric_access, which asks NVML and creates such a page once).
type FabricAsker interface {
	// FabricAccess reports whether pages of the device can be shared as fabric handles.
	FabricAccess(dev Device) (bool, error)
}

// ShareType is a kind of handle that a page can be shared with between processes.
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

// MemorySharing is the ability to share memory between processes.
type MemorySharing interface {
	// ProcessID is this process's id, as other processes see it.
	ProcessID() uint64

	// ShareMemory makes a handle of a piece of memory that Malloc has returned
	// (cudaIpcGetMemHandle).
	ShareMemory(dev Device, ptr Ptr) ([]byte, error)

	// OpenMemory makes another process's piece accessible
	// (cudaIpcOpenMemHandle). A handle may be open once at a time.
	OpenMemory(dev Device, handle []byte) (Ptr, error)

	// CloseMemory closes memory that OpenMemory has returned (cudaIpcCloseMemHandle).
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

	// EnablePeerAccess makes all memory that Malloc returns on peer, before and after,
	// accessible from dev (cudaDeviceEnablePeerAccess). Doing it twice is not an error.
	EnablePeerAccess(dev, peer Device) error
}
