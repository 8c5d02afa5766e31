// What libcudart.so and libcuda.so of the fake GPU offer, as far as it is implemented: types,
// numbers and functions of CUDA that an allocator and its tests use, in declarations of this
// project's own. The numbers are CUDA's. Who has CUDA's headers includes those first, and
// gets only the last part of this one: what the fake GPU has beside CUDA.
#ifndef GAUGEBLOCK_CUDA_H
#define GAUGEBLOCK_CUDA_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__CUDA_RUNTIME_API_H__) && !defined(__cuda_cuda_h__)
#define GAUGEBLOCK_CUDA_DECLARES 1

// A program for CUDA 12 defines these as 12090, and is linked with libcudart.so.12.
#ifndef CUDART_VERSION
#define CUDART_VERSION 13000
#endif
#ifndef CUDA_VERSION
#define CUDA_VERSION CUDART_VERSION
#endif
#define CUDART_CB
#define CUDA_CB

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st *cudaStream_t, *CUstream;
typedef struct CUevent_st *cudaEvent_t, *CUevent;
typedef struct CUgraph_st *cudaGraph_t, *CUgraph;
typedef struct CUgraphNode_st *cudaGraphNode_t, *CUgraphNode;
typedef struct CUgraphExec_st *cudaGraphExec_t, *CUgraphExec;
typedef struct CUmemPoolHandle_st *cudaMemPool_t, *CUmemoryPool;
typedef struct CUuserObject_st *cudaUserObject_t, *CUuserObject;
typedef struct CUctx_st *CUcontext;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef unsigned long long CUmemGenericAllocationHandle;

// The handles of a device's legacy default stream, and of a thread's own.
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)

typedef enum cudaError {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorCudartUnloading = 4,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorInvalidDevice = 101,
	cudaErrorDeviceUninitialized = 201,
	cudaErrorAlreadyMapped = 208,
	cudaErrorPeerAccessUnsupported = 217,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorIllegalState = 401,
	cudaErrorSymbolNotFound = 500,
	cudaErrorNotReady = 600,
	cudaErrorIllegalAddress = 700,
	cudaErrorPeerAccessAlreadyEnabled = 704,
	cudaErrorPeerAccessNotEnabled = 705,
	cudaErrorLaunchFailure = 719,
	cudaErrorNotPermitted = 800,
	cudaErrorNotSupported = 801,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
	cudaErrorStreamCaptureMerge = 902,
	cudaErrorStreamCaptureUnmatched = 903,
	cudaErrorStreamCaptureUnjoined = 904,
	cudaErrorStreamCaptureIsolation = 905,
	cudaErrorStreamCaptureImplicit = 906,
	cudaErrorCapturedEvent = 907,
	cudaErrorStreamCaptureWrongThread = 908,
	cudaErrorUnknown = 999
} cudaError_t;

typedef enum cudaError_enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_UNKNOWN = 999
} CUresult;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4
};

enum cudaStreamCaptureMode {
	cudaStreamCaptureModeGlobal = 0,
	cudaStreamCaptureModeThreadLocal = 1,
	cudaStreamCaptureModeRelaxed = 2
};

enum cudaStreamCaptureStatus {
	cudaStreamCaptureStatusNone = 0,
	cudaStreamCaptureStatusActive = 1,
	cudaStreamCaptureStatusInvalidated = 2
};

enum cudaGraphNodeType {
	cudaGraphNodeTypeKernel = 0,
	cudaGraphNodeTypeMemcpy = 1,
	cudaGraphNodeTypeMemset = 2,
	cudaGraphNodeTypeHost = 3,
	cudaGraphNodeTypeMemAlloc = 10,
	cudaGraphNodeTypeMemFree = 11
};

enum cudaUserObjectFlags { cudaUserObjectNoDestructorSync = 1 };
enum cudaUserObjectRetainFlags { cudaGraphUserObjectMove = 1 };

enum cudaGraphMemAttributeType {
	cudaGraphMemAttrUsedMemCurrent = 0,
	cudaGraphMemAttrReservedMemCurrent = 2
};

enum cudaMemPoolAttr {
	cudaMemPoolReuseFollowEventDependencies = 1,
	cudaMemPoolReuseAllowOpportunistic = 2,
	cudaMemPoolReuseAllowInternalDependencies = 3,
	cudaMemPoolAttrReleaseThreshold = 4,
	cudaMemPoolAttrReservedMemCurrent = 5,
	cudaMemPoolAttrReservedMemHigh = 6,
	cudaMemPoolAttrUsedMemCurrent = 7,
	cudaMemPoolAttrUsedMemHigh = 8
};

enum cudaMemAllocationType {
	cudaMemAllocationTypeInvalid = 0,
	cudaMemAllocationTypePinned = 1,
	cudaMemAllocationTypeManaged = 2
};
enum cudaMemAllocationHandleType {
	cudaMemHandleTypeNone = 0,
	cudaMemHandleTypePosixFileDescriptor = 1,
	cudaMemHandleTypeWin32 = 2,
	cudaMemHandleTypeWin32Kmt = 4,
	cudaMemHandleTypeFabric = 8
};
enum cudaMemLocationType {
	cudaMemLocationTypeInvalid = 0,
	cudaMemLocationTypeDevice = 1,
	cudaMemLocationTypeHost = 2
};
struct cudaMemLocation { enum cudaMemLocationType type; int id; };

enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3
};
struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer;
	void *hostPointer;
	long reserved[8];
};
enum cudaMemoryAdvise {
	cudaMemAdviseSetReadMostly = 1,
	cudaMemAdviseUnsetReadMostly = 2,
	cudaMemAdviseSetPreferredLocation = 3,
	cudaMemAdviseUnsetPreferredLocation = 4,
	cudaMemAdviseSetAccessedBy = 5,
	cudaMemAdviseUnsetAccessedBy = 6
};
enum cudaMemRangeAttribute {
	cudaMemRangeAttributeReadMostly = 1,
	cudaMemRangeAttributePreferredLocation = 2,
	cudaMemRangeAttributeLastPrefetchLocation = 4
};

struct cudaMemPoolProps {
	enum cudaMemAllocationType allocType;
	enum cudaMemAllocationHandleType handleTypes;
	struct cudaMemLocation location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
};
struct cudaMemPoolPtrExportData { unsigned char reserved[64]; };

enum cudaDriverEntryPointQueryResult {
	cudaDriverEntryPointSuccess = 0,
	cudaDriverEntryPointSymbolNotFound = 1,
	cudaDriverEntryPointVersionNotSufficent = 2
};

enum {
	cudaStreamDefault = 0,
	cudaStreamNonBlocking = 1,
	cudaEventDefault = 0,
	cudaEventBlockingSync = 1,
	cudaEventDisableTiming = 2,
	cudaEventInterprocess = 4,
	cudaEventRecordDefault = 0,
	cudaEventRecordExternal = 1,
	cudaEventWaitDefault = 0,
	cudaEventWaitExternal = 1,
	cudaIpcMemLazyEnablePeerAccess = 1,
	cudaMemAttachGlobal = 1,
	cudaMemAttachHost = 2,
	cudaMemAttachSingle = 4,
	cudaHostAllocDefault = 0,
	cudaHostAllocPortable = 1,
	cudaHostAllocMapped = 2,
	cudaHostAllocWriteCombined = 4
};

typedef struct { char reserved[64]; } cudaIpcMemHandle_t, CUipcMemHandle;
typedef struct { char reserved[64]; } cudaIpcEventHandle_t;
typedef struct { unsigned char from_port, to_port, type, reserved[5]; } cudaGraphEdgeData, CUgraphEdgeData;
typedef void (CUDART_CB *cudaHostFn_t)(void *userData);
typedef void (CUDART_CB *cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);

// Only some of the fields that are filled in have names; the size is that of CUDA 13's.
struct cudaDeviceProp {
	char name[256];
	char uuid[16];
	char luid[8];
	unsigned luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	int multiProcessorCount;
	char rest[616];
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

cudaError_t cudaMalloc(void **ptr, size_t bytes);
cudaError_t cudaFree(void *ptr);
cudaError_t cudaMallocHost(void **ptr, size_t bytes);
cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags);
cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *ptr);
cudaError_t cudaHostGetFlags(unsigned *flags, void *ptr);
cudaError_t cudaHostGetDevicePointer(void **device, void *ptr, unsigned flags);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags);
#if CUDART_VERSION >= 13000 // before, a place is a device's number
cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes, struct cudaMemLocation to, unsigned flags, cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation place);
#endif
cudaError_t cudaMemRangeGetAttribute(void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *ptr, size_t bytes);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *ptr, size_t bytes, unsigned flags);
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr);
cudaError_t cudaFreeHost(void *ptr);
cudaError_t cudaMemGetInfo(size_t *available, size_t *total);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes, cudaStream_t stream);
cudaError_t cudaMemset(void *ptr, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *ptr, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocFromPoolAsync(void **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaFreeAsync(void *ptr, cudaStream_t stream);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool);
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *place, enum cudaMemAllocationType type);
cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *place, enum cudaMemAllocationType type);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *properties);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep);
cudaError_t cudaMemPoolExportToShareableHandle(void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags);
cudaError_t cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *ptr);
cudaError_t cudaMemPoolImportPointer(void **ptr, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data);

cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status);
cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
#ifdef __cplusplus
#define GAUGEBLOCK_OR_NULL = nullptr
#else
#define GAUGEBLOCK_OR_NULL
#endif
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
	unsigned long long *id GAUGEBLOCK_OR_NULL, cudaGraph_t *graph GAUGEBLOCK_OR_NULL,
	const cudaGraphNode_t **nodes GAUGEBLOCK_OR_NULL, const cudaGraphEdgeData **edges GAUGEBLOCK_OR_NULL,
	size_t *count GAUGEBLOCK_OR_NULL);
cudaError_t cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy, unsigned references, unsigned flags);
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned count);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaDeviceGraphMemTrim(int device);
cudaError_t cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attribute, void *value);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *ptr);
cudaError_t cudaIpcOpenMemHandle(void **ptr, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void *ptr);
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);

#include "gaugeblock_cuda_driver.h"

#ifdef __cplusplus
}

// In C++ CUDA's headers have these forms as well: pointers of any type, and arguments that may be left out.
template <class T> inline cudaError_t cudaMalloc(T **ptr, size_t bytes) { return cudaMalloc((void **)(void *)ptr, bytes); }
template <class T> inline cudaError_t cudaMallocHost(T **ptr, size_t bytes, unsigned flags = 0) { return cudaHostAlloc((void **)(void *)ptr, bytes, flags); }
template <class T> inline cudaError_t cudaHostAlloc(T **ptr, size_t bytes, unsigned flags) { return cudaHostAlloc((void **)(void *)ptr, bytes, flags); }
template <class T> inline cudaError_t cudaMallocManaged(T **ptr, size_t bytes, unsigned flags = cudaMemAttachGlobal) {
	return cudaMallocManaged((void **)(void *)ptr, bytes, flags);
}
template <class T> inline cudaError_t cudaMallocAsync(T **ptr, size_t bytes, cudaStream_t stream) {
	return cudaMallocAsync((void **)(void *)ptr, bytes, stream);
}
template <class T> inline cudaError_t cudaMallocFromPoolAsync(T **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
	return cudaMallocFromPoolAsync((void **)(void *)ptr, bytes, pool, stream);
}
template <class T> inline cudaError_t cudaMallocAsync(T **ptr, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
	return cudaMallocFromPoolAsync((void **)(void *)ptr, bytes, pool, stream);
}
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **ptr, void *host, unsigned flags) {
	return cudaHostGetDevicePointer((void **)(void *)ptr, host, flags);
}
inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags) { return cudaEventCreateWithFlags(event, flags); }
inline cudaError_t cudaEventRecord(cudaEvent_t event) { return cudaEventRecord(event, nullptr); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event) { return cudaStreamWaitEvent(stream, event, 0); }
inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
	return cudaMemcpyAsync(dst, src, bytes, kind, nullptr);
}
inline cudaError_t cudaMemsetAsync(void *ptr, int value, size_t bytes) { return cudaMemsetAsync(ptr, value, bytes, nullptr); }
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *ptr, size_t bytes = 0) {
	return cudaStreamAttachMemAsync(stream, ptr, bytes, cudaMemAttachSingle);
}
#endif
#endif

// What the fake GPU has beside CUDA. All of it is in libcuda.so.1.

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
	const void *ptr;
	size_t bytes;
} gaugeblock_range;

// gaugeblock_launch gives a stream a kernel that touches the ranges. The fake GPU runs no
// code of a device; what it needs to know of a kernel is this. The result is CUDA's number
// of an error, 0 for none, as for all functions here that return int and say nothing else.
int gaugeblock_launch(void *stream, const char *name, const gaugeblock_range *reads, size_t num_reads,
	const gaugeblock_range *writes, size_t num_writes);

// gaugeblock_compute gives a stream a kernel that the host computes: when it is the kernel's
// turn, the function is called with the data, once for each launch of a graph if the stream
// is being captured. What it does to the kernel's ranges is what the kernel does. With
// GAUGEBLOCK_CUDA_BYTES=host the ranges are memory at the addresses that CUDA gave; without,
// no address of the device's is the host's, and the result is cudaErrorNotSupported. The
// function is not called if the kernel names memory that it has no right to touch. It must
// not call CUDA.
typedef struct {
	const char *name;
	const gaugeblock_range *reads;
	size_t num_reads;
	const gaugeblock_range *writes;
	size_t num_writes;
	void (*compute)(void *data);
	void *data;
} gaugeblock_kernel;
int gaugeblock_compute(void *stream, const gaugeblock_kernel *kernel);

// gaugeblock_bytes_in_host is 1 if the host finds the devices' memory at its addresses.
int gaugeblock_bytes_in_host(void);

// gaugeblock_busy closes a gate at the end of the stream: what is given to it from here on
// is not done before gaugeblock_drain.
int gaugeblock_busy(void *stream);
int gaugeblock_drain(void *stream);

// gaugeblock_allocated says that an allocator has allocated memory that it obtained from
// CUDA, for use on the stream; gaugeblock_freed that it is about to free it. From
// then on work on memory of the same piece that nobody has is a hazard, and so is work of
// one owner that is not in order with that of the one before.
int gaugeblock_allocated(const void *ptr, size_t bytes, void *stream);
int gaugeblock_freed(const void *ptr);

// With GAUGEBLOCK_CUDA_THREADS=own what a thread has waited for orders only what that thread
// does later. gaugeblock_release says that whoever acquires the same address after that has seen
// what this thread has: call the two where a lock is unlocked and locked, or a thread has ended
// and is joined. A new thread has seen what the one has that called CUDA before its first call.
void gaugeblock_release(const void *what);
void gaugeblock_acquire(const void *what);

// gaugeblock_watchdog_looks: with GAUGEBLOCK_CUDA_WATCHDOG=told NCCL's watchdog, a thread of PyTorch, sees here which
// collectives are over, and nowhere else. Where a group of processes ends (1) the program waits until it has seen all, and
// where the program ends (2) this call does.
void gaugeblock_watchdog_looks(int where);

// gaugeblock_set_free: how many bytes of the device other programs leave free.
int gaugeblock_set_free(int device, size_t bytes);

// gaugeblock_fault makes the nth call (from 1, from now on) of a kind fail. fakegpu/cuda/README.md
// lists kinds and errors.
int gaugeblock_fault(const char *call, int nth, const char *error);

// gaugeblock_hazards is how many hazards were found. gaugeblock_hazard writes one in words,
// at most size bytes with a zero at the end, and returns how long it is; -1 if there is none
// of that number.
int gaugeblock_hazards(void);
int gaugeblock_hazard(int number, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
