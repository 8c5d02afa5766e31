// What is needed of CUDA's driver interface: types, constants, functions. The
// library is opened at run time, so nothing here has to be there when this builds.
#ifndef GAUGEBLOCK_DRIVER_H
#define GAUGEBLOCK_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef uint64_t CUmemHandle; // CUmemGenericAllocationHandle

// CUDA's handles are pointers to what nobody can look into. As numbers they are
// passed in the same way, and Go's garbage collector has nothing to do with them.
typedef uint64_t CUcontext;
typedef uint64_t CUstream;
typedef uint64_t CUevent;
typedef uint64_t CUgraph;
typedef uint64_t CUgraphNode;
typedef uint64_t CUgraphExec;
_Static_assert(sizeof(void *) == sizeof(uint64_t), "a handle is as large as a pointer");

enum {
	EVENT_DISABLE_TIMING = 2,
	STREAM_NON_BLOCKING = 1,
	HOST_PORTABLE_MAPPED = 1 | 2,
	IPC_LAZY_PEER_ACCESS = 1,
	WAIT_VALUE_GEQ = 0,
	CAPTURE_RELAXED = 2,
	ATTRIBUTE_VIRTUAL_MEMORY = 102,
	ATTRIBUTE_RDMA_WITH_VIRTUAL_MEMORY = 110,
	ATTRIBUTE_FABRIC_HANDLES = 128,
	LOCATION_DEVICE = 1,
	ALLOCATION_PINNED = 1,
	HANDLE_POSIX = 1,
	HANDLE_FABRIC = 8,
	ACCESS_READ_WRITE = 3,
};

typedef struct {
	int type, id;
} CUmemLocation;

typedef struct {
	int type, handles;
	CUmemLocation location;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
} CUmemProperties; // CUmemAllocationProp

typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccess; // CUmemAccessDesc

typedef struct {
	char bytes[64];
} CUhandle; // CUipcMemHandle, and CUmemFabricHandle

typedef struct {
	unsigned char from, to, type, reserved[5];
} CUedge; // CUgraphEdgeData

// Every function: its name here, the symbol (its version is part of it), what it
// takes. MUST is there in every driver that is new enough; of the two generations of
// the capture calls one is enough.
#define GAUGEBLOCK_FUNCTIONS(MUST, MAY) \
	MUST(Init, "cuInit", (unsigned)) \
	MUST(DriverGetVersion, "cuDriverGetVersion", (int *)) \
	MUST(GetErrorName, "cuGetErrorName", (CUresult, const char **)) \
	MUST(GetErrorString, "cuGetErrorString", (CUresult, const char **)) \
	MUST(DeviceGetCount, "cuDeviceGetCount", (int *)) \
	MUST(DeviceGet, "cuDeviceGet", (CUdevice *, int)) \
	MUST(DeviceGetName, "cuDeviceGetName", (char *, int, CUdevice)) \
	MUST(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, CUdevice)) \
	MUST(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, CUdevice)) \
	MUST(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice)) \
	MUST(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice)) \
	MUST(CtxPushCurrent, "cuCtxPushCurrent_v2", (CUcontext)) \
	MUST(CtxPopCurrent, "cuCtxPopCurrent_v2", (CUcontext *)) \
	MUST(CtxGetDevice, "cuCtxGetDevice", (CUdevice *)) \
	MUST(CtxSynchronize, "cuCtxSynchronize", (void)) \
	MUST(CtxEnablePeerAccess, "cuCtxEnablePeerAccess", (CUcontext, unsigned)) \
	MUST(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int *, CUdevice, CUdevice)) \
	MUST(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t)) \
	MUST(MemFree, "cuMemFree_v2", (CUdeviceptr)) \
	MUST(MemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *)) \
	MUST(MemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned)) \
	MUST(MemFreeHost, "cuMemFreeHost", (void *)) \
	MUST(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (CUdeviceptr *, void *, unsigned)) \
	MUST(MemAddressReserve, "cuMemAddressReserve", (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long)) \
	MUST(MemAddressFree, "cuMemAddressFree", (CUdeviceptr, size_t)) \
	MUST(MemCreate, "cuMemCreate", (CUmemHandle *, size_t, const CUmemProperties *, unsigned long long)) \
	MUST(MemRelease, "cuMemRelease", (CUmemHandle)) \
	MUST(MemMap, "cuMemMap", (CUdeviceptr, size_t, size_t, CUmemHandle, unsigned long long)) \
	MUST(MemUnmap, "cuMemUnmap", (CUdeviceptr, size_t)) \
	MUST(MemSetAccess, "cuMemSetAccess", (CUdeviceptr, size_t, const CUmemAccess *, size_t)) \
	MUST(MemExport, "cuMemExportToShareableHandle", (void *, CUmemHandle, int, unsigned long long)) \
	MUST(MemImport, "cuMemImportFromShareableHandle", (CUmemHandle *, void *, int)) \
	MUST(IpcGetMemHandle, "cuIpcGetMemHandle", (CUhandle *, CUdeviceptr)) \
	MUST(IpcOpenMemHandle, "cuIpcOpenMemHandle_v2", (CUdeviceptr *, CUhandle, unsigned)) \
	MUST(IpcCloseMemHandle, "cuIpcCloseMemHandle", (CUdeviceptr)) \
	MUST(EventCreate, "cuEventCreate", (CUevent *, unsigned)) \
	MUST(EventRecord, "cuEventRecord", (CUevent, CUstream)) \
	MUST(EventQuery, "cuEventQuery", (CUevent)) \
	MUST(EventSynchronize, "cuEventSynchronize", (CUevent)) \
	MUST(EventDestroy, "cuEventDestroy_v2", (CUevent)) \
	MUST(StreamCreate, "cuStreamCreate", (CUstream *, unsigned)) \
	MUST(StreamDestroy, "cuStreamDestroy_v2", (CUstream)) \
	MUST(StreamSynchronize, "cuStreamSynchronize", (CUstream)) \
	MUST(StreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned)) \
	MUST(StreamWaitValue32, "cuStreamWaitValue32_v2", (CUstream, CUdeviceptr, uint32_t, unsigned)) \
	MUST(StreamGetCtx, "cuStreamGetCtx", (CUstream, CUcontext *)) \
	MUST(StreamIsCapturing, "cuStreamIsCapturing", (CUstream, int *)) \
	MUST(StreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int)) \
	MUST(StreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph *)) \
	MAY(StreamGetCaptureInfo2, "cuStreamGetCaptureInfo_v2", \
		(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, size_t *)) \
	MAY(StreamGetCaptureInfo3, "cuStreamGetCaptureInfo_v3", \
		(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, const CUedge **, size_t *)) \
	MAY(NodeGetDependencies1, "cuGraphNodeGetDependencies", (CUgraphNode, CUgraphNode *, size_t *)) \
	MAY(NodeGetDependencies2, "cuGraphNodeGetDependencies_v2", (CUgraphNode, CUgraphNode *, CUedge *, size_t *)) \
	MUST(ThreadExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *)) \
	MUST(GraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec *, CUgraph, unsigned long long)) \
	MUST(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream)) \
	MUST(GraphDestroy, "cuGraphDestroy", (CUgraph)) \
	MUST(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec)) \
	MUST(MemsetD8, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream)) \
	MUST(MemcpyDtoD, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream)) \
	MUST(MemcpyPeer, "cuMemcpyPeerAsync", (CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, size_t, CUstream)) \
	MUST(MemcpyDtoH, "cuMemcpyDtoHAsync_v2", (void *, CUdeviceptr, size_t, CUstream))

// The table itself: cu.MemAlloc(...) calls cuMemAlloc_v2.
#define GAUGEBLOCK_FIELD(name, symbol, takes) CUresult (*name) takes;
typedef struct {
	GAUGEBLOCK_FUNCTIONS(GAUGEBLOCK_FIELD, GAUGEBLOCK_FIELD)
} gaugeblock_driver;
#undef GAUGEBLOCK_FIELD

extern gaugeblock_driver cu;

// gaugeblock_load fills the table. It returns NULL, or else what is missing: words of
// the system's linker if there is no library (*symbol is 0), or the symbol (1).
const char *gaugeblock_load(int *symbol);

// IN makes a call of the driver with a context current, and leaves the thread as it
// was. Its value is the result.
#define IN(context, call) \
	({ \
		CUresult in_ = cu.CtxPushCurrent(context); \
		if (in_ == 0) { \
			CUcontext was_; \
			in_ = (call); \
			cu.CtxPopCurrent(&was_); \
		} \
		in_; \
	})

#endif
