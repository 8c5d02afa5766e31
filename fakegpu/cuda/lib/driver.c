// The driver's interface: libcuda.so.1.
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;
typedef uint64_t Ptr;
typedef struct { int type, id; } Location;
typedef struct {
	int type, handles;
	Location location;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
} Properties;
typedef struct { Location location; int flags; } Access;
typedef struct { char bytes[64]; } Handle;

// A context is a place in a table; a thread has a stack of them.
static char contexts[MAX_DEVICES];
static __thread int stack[64];
static __thread int depth;

static int context_device(const void *context) {
	const char *c = context;
	return c >= contexts && c < contexts + MAX_DEVICES ? (int)(c - contexts) : -1;
}

static int device_there(int device) {
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_COUNT, w);
	return r != 0 ? r : device < 0 || (uint64_t)device >= w[0] ? INVALID_DEVICE : 0;
}

// made gives what an operation has made, which is in its second word, if it has not failed.
static int made(void **what, int failed, const uint64_t *words) {
	if (failed == 0) {
		*what = (void *)words[1];
	}
	return failed;
}

#define CURRENT(device) \
	int device = gaugeblock_current(); \
	if (device < 0) { \
		return INVALID_CONTEXT; \
	}

#define ON(stream, number, device) \
	uint64_t number, device; \
	{ \
		int on_ = gaugeblock_current(); \
		if (on_ < 0) { \
			return INVALID_CONTEXT; \
		} \
		int r_ = gaugeblock_stream(stream, on_, &number, &device); \
		if (r_ != 0) { \
			return r_; \
		} \
	}

GAUGEBLOCK_API Result cuInit(unsigned flags) { return flags == 0 ? device_there(0) : INVALID_VALUE; }

GAUGEBLOCK_API Result cuDriverGetVersion(int *version) {
	*version = 13000;
	return 0;
}

GAUGEBLOCK_API Result cuGetErrorName(Result error, const char **name) {
	*name = gaugeblock_error_name(error, 0);
	return *name == NULL ? INVALID_VALUE : 0;
}

GAUGEBLOCK_API Result cuGetErrorString(Result error, const char **text) {
	*text = gaugeblock_error_text(error);
	return *text == NULL ? INVALID_VALUE : 0;
}

GAUGEBLOCK_API Result cuDeviceGetCount(int *count) {
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_COUNT, w);
	*count = (int)w[0];
	return r;
}

GAUGEBLOCK_API Result cuDeviceGet(int *device, int ordinal) {
	int r = device_there(ordinal);
	if (r == 0) {
		*device = ordinal;
	}
	return r;
}

GAUGEBLOCK_API Result cuDeviceGetName(char *name, int size, int device) {
	char text[256];
	WORDS((uint64_t)device, 0, 0, P(text));
	int r = gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	if (r == 0 && size > 0) {
		strncpy(name, text, (size_t)size - 1);
		name[size - 1] = 0;
	}
	return r;
}

GAUGEBLOCK_API Result cuDeviceTotalMem_v2(size_t *bytes, int device) {
	char text[256];
	WORDS((uint64_t)device, 0, 0, P(text));
	int r = gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	*bytes = w[1];
	return r;
}

GAUGEBLOCK_API Result cuDeviceGetAttribute(int *value, int attribute, int device) {
	WORDS((uint64_t)device, (uint64_t)attribute);
	int r = gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, w);
	*value = (int)w[2];
	return r;
}

GAUGEBLOCK_API Result cuDeviceComputeCapability(int *major, int *minor, int device) {
	int r = cuDeviceGetAttribute(major, 75, device);
	return r != 0 ? r : cuDeviceGetAttribute(minor, 76, device);
}

GAUGEBLOCK_API Result cuDeviceGetUuid_v2(char *uuid, int device) {
	memset(uuid, 0, 16);
	uuid[0] = (char)(device + 1);
	return device_there(device);
}

GAUGEBLOCK_API Result cuDeviceGetPCIBusId(char *id, int size, int device) {
	snprintf(id, (size_t)size, "0000:%02X:00.0", device + 1);
	return device_there(device);
}

GAUGEBLOCK_API Result cuDeviceCanAccessPeer(int *can, int device, int peer) {
	WORDS((uint64_t)device, (uint64_t)peer);
	int r = gaugeblock_do(GAUGEBLOCK_PEER_CAN, w);
	*can = (int)w[2];
	return r;
}

GAUGEBLOCK_API Result cuDevicePrimaryCtxRetain(void **context, int device) {
	int r = device_there(device);
	if (r == 0) {
		*context = &contexts[device];
	}
	return r;
}

GAUGEBLOCK_API Result cuDevicePrimaryCtxRelease_v2(int device) { return device_there(device); }

GAUGEBLOCK_API Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
	*flags = 0;
	*active = 1;
	return device_there(device);
}

GAUGEBLOCK_API Result cuCtxPushCurrent_v2(void *context) {
	int device = context_device(context);
	if (device < 0 || depth == 64) {
		return INVALID_CONTEXT;
	}
	stack[depth++] = gaugeblock_current();
	gaugeblock_make_current(device);
	return 0;
}

GAUGEBLOCK_API Result cuCtxPopCurrent_v2(void **context) {
	int device = gaugeblock_current();
	if (device < 0) {
		return INVALID_CONTEXT;
	}
	if (context != NULL) {
		*context = &contexts[device];
	}
	gaugeblock_make_current(depth > 0 ? stack[--depth] : -1);
	return 0;
}

GAUGEBLOCK_API Result cuCtxSetCurrent(void *context) {
	int device = context_device(context);
	if (context != NULL && device < 0) {
		return INVALID_CONTEXT;
	}
	gaugeblock_make_current(device);
	return 0;
}

GAUGEBLOCK_API Result cuCtxGetCurrent(void **context) {
	int device = gaugeblock_current();
	*context = device < 0 ? NULL : &contexts[device];
	return 0;
}

GAUGEBLOCK_API Result cuCtxGetDevice(int *device) {
	CURRENT(now)
	*device = now;
	return 0;
}

GAUGEBLOCK_API Result cuCtxSynchronize(void) {
	CURRENT(device)
	WORDS((uint64_t)device);
	return gaugeblock_do(GAUGEBLOCK_DEVICE_SYNCHRONIZE, w);
}

GAUGEBLOCK_API Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	*least = 0;
	*greatest = -5;
	return 0;
}

GAUGEBLOCK_API Result cuCtxGetApiVersion(void *context, unsigned *version) {
	(void)context;
	*version = 13000;
	return 0;
}

GAUGEBLOCK_API Result cuCtxGetFlags(unsigned *flags) {
	*flags = 0;
	return 0;
}

// Limits (of stacks, heaps and the like) are taken and mean nothing.
GAUGEBLOCK_API Result cuCtxSetLimit(int limit, size_t value) {
	(void)limit, (void)value;
	return 0;
}

GAUGEBLOCK_API Result cuCtxGetLimit(size_t *value, int limit) {
	(void)limit;
	*value = 1024;
	return 0;
}

static uint64_t peers[MAX_DEVICES]; // enabled through this library

GAUGEBLOCK_API Result cuCtxEnablePeerAccess(void *peer, unsigned flags) {
	CURRENT(device)
	int other = context_device(peer);
	if (other < 0) {
		return INVALID_CONTEXT;
	}
	if (flags != 0) {
		return INVALID_VALUE;
	}
	if (__atomic_load_n(&peers[device], __ATOMIC_RELAXED) >> other & 1) {
		return PEER_ALREADY;
	}
	WORDS((uint64_t)device, (uint64_t)other);
	int r = gaugeblock_do(GAUGEBLOCK_PEER_ENABLE, w);
	if (r == 0) {
		__atomic_fetch_or(&peers[device], 1ull << other, __ATOMIC_RELAXED);
	}
	return r;
}

// Memory.

GAUGEBLOCK_API Result cuMemAlloc_v2(Ptr *ptr, size_t bytes) {
	CURRENT(device)
	WORDS((uint64_t)device, bytes);
	int r = gaugeblock_do(GAUGEBLOCK_MALLOC, w);
	if (r == 0) {
		*ptr = w[2];
	}
	return r;
}

GAUGEBLOCK_API Result cuMemFree_v2(Ptr ptr) {
	CURRENT(device)
	(void)device;
	WORDS(ptr);
	return gaugeblock_do(GAUGEBLOCK_FREE, w);
}

GAUGEBLOCK_API Result cuMemGetAddressRange_v2(Ptr *base, size_t *bytes, Ptr ptr) {
	WORDS(ptr);
	int r = gaugeblock_do(GAUGEBLOCK_POINTER, w);
	if (r == 0 && w[1] == 0) {
		return SYMBOL_NOT_FOUND;
	}
	if (base != NULL) {
		*base = w[3];
	}
	if (bytes != NULL) {
		*bytes = w[4];
	}
	return r;
}

// cuPointerGetAttribute answers for memory of a device, by CUDA's numbers of what is asked.
GAUGEBLOCK_API Result cuPointerGetAttribute(void *data, int attribute, Ptr ptr) {
	WORDS(ptr);
	int r = gaugeblock_do(GAUGEBLOCK_POINTER, w);
	if (r != 0 || w[1] == 0) {
		return r != 0 ? r : INVALID_VALUE;
	}
	switch (attribute) {
	case 1: // context
		*(void **)data = &contexts[w[2]];
		return 0;
	case 2: // memory of a device
		*(int *)data = 2;
		return 0;
	case 3: // the pointer on the device
		*(Ptr *)data = ptr;
		return 0;
	case 7: // number of the piece of memory
	case 11: // its beginning
		*(Ptr *)data = w[3];
		return 0;
	case 9: // device
		*(int *)data = (int)w[2];
		return 0;
	case 12: // its size
		*(size_t *)data = w[4];
		return 0;
	case 6: // synchronizes
	case 8: // managed
	case 10: // can be shared
	case 13: // mapped
		*(int *)data = attribute == 13;
		return 0;
	}
	return gaugeblock_lacks("an attribute of a pointer other than what is there");
}

GAUGEBLOCK_API Result cuMemGetInfo_v2(size_t *available, size_t *total) {
	CURRENT(device)
	WORDS((uint64_t)device);
	int r = gaugeblock_do(GAUGEBLOCK_MEM_INFO, w);
	*available = w[1];
	*total = w[2];
	return r;
}

GAUGEBLOCK_API Result cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags) {
	(void)flags;
	return gaugeblock_host_alloc(ptr, bytes);
}

GAUGEBLOCK_API Result cuMemAllocHost_v2(void **ptr, size_t bytes) { return gaugeblock_host_alloc(ptr, bytes); }
GAUGEBLOCK_API Result cuMemFreeHost(void *ptr) { return gaugeblock_host_free(ptr); }

GAUGEBLOCK_API Result cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags) {
	(void)flags;
	return gaugeblock_pin(ptr, bytes);
}

GAUGEBLOCK_API Result cuMemHostUnregister(void *ptr) { return gaugeblock_unpin(ptr); }

GAUGEBLOCK_API Result cuMemHostGetDevicePointer_v2(Ptr *device, void *host, unsigned flags) {
	*device = P(host);
	return flags == 0 ? 0 : INVALID_VALUE;
}

GAUGEBLOCK_API Result cuMemAddressReserve(Ptr *ptr, size_t bytes, size_t alignment, Ptr address, unsigned long long flags) {
	(void)alignment, (void)address;
	if (flags != 0) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)gaugeblock_current_runtime(), bytes);
	int r = gaugeblock_do(GAUGEBLOCK_RESERVE, w);
	if (r == 0) {
		*ptr = w[2];
	}
	return r;
}

GAUGEBLOCK_API Result cuMemAddressFree(Ptr ptr, size_t bytes) {
	WORDS(ptr, bytes);
	return gaugeblock_do(GAUGEBLOCK_ADDRESS_FREE, w);
}

GAUGEBLOCK_API Result cuMemCreate(uint64_t *page, size_t bytes, const Properties *p, unsigned long long flags) {
	if (p == NULL || flags != 0 || p->location.type != 1) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)p->location.id, bytes, p->handles == 8);
	int r = gaugeblock_do(GAUGEBLOCK_PAGE_CREATE, w);
	if (r == 0) {
		*page = w[3];
	}
	return r;
}

GAUGEBLOCK_API Result cuMemRelease(uint64_t page) {
	WORDS(page);
	return gaugeblock_do(GAUGEBLOCK_PAGE_RELEASE, w);
}

GAUGEBLOCK_API Result cuMemMap(Ptr ptr, size_t bytes, size_t offset, uint64_t page, unsigned long long flags) {
	if (offset != 0) {
		return gaugeblock_lacks("cuMemMap with an offset");
	}
	if (flags != 0) {
		return INVALID_VALUE;
	}
	WORDS(ptr, bytes, page);
	return gaugeblock_do(GAUGEBLOCK_PAGE_MAP, w);
}

GAUGEBLOCK_API Result cuMemUnmap(Ptr ptr, size_t bytes) {
	WORDS(ptr, bytes);
	return gaugeblock_do(GAUGEBLOCK_PAGE_UNMAP, w);
}

GAUGEBLOCK_API Result cuMemSetAccess(Ptr ptr, size_t bytes, const Access *access, size_t count) {
	for (size_t i = 0; i < count; i++) {
		if (access[i].flags != 3) {
			return gaugeblock_lacks("cuMemSetAccess with other than read and write access");
		}
		WORDS(ptr, bytes, (uint64_t)access[i].location.id);
		int r = gaugeblock_do(GAUGEBLOCK_PAGE_ACCESS, w);
		if (r != 0) {
			return r;
		}
	}
	return 0;
}

GAUGEBLOCK_API Result cuMemGetAllocationGranularity(size_t *bytes, const Properties *p, int option) {
	(void)p, (void)option;
	*bytes = 2 << 20;
	return 0;
}

GAUGEBLOCK_API Result cuMemExportToShareableHandle(void *handle, uint64_t page, int type, unsigned long long flags) {
	(void)flags;
	WORDS(page, type == 8, P(handle));
	return gaugeblock_do(GAUGEBLOCK_PAGE_EXPORT, w);
}

GAUGEBLOCK_API Result cuMemImportFromShareableHandle(uint64_t *page, void *handle, int type) {
	WORDS(type == 8, P(handle));
	int r = gaugeblock_do(GAUGEBLOCK_PAGE_IMPORT, w);
	if (r == 0) {
		*page = w[2];
	}
	return r;
}

GAUGEBLOCK_API Result cuIpcGetMemHandle(Handle *handle, Ptr ptr) {
	WORDS(ptr, P(handle));
	return gaugeblock_do(GAUGEBLOCK_IPC_GET, w);
}

GAUGEBLOCK_API Result cuIpcOpenMemHandle_v2(Ptr *ptr, Handle handle, unsigned flags) {
	CURRENT(device)
	(void)flags;
	WORDS((uint64_t)device, P(&handle));
	int r = gaugeblock_do(GAUGEBLOCK_IPC_OPEN, w);
	if (r == 0) {
		*ptr = w[2];
	}
	return r;
}

GAUGEBLOCK_API Result cuIpcCloseMemHandle(Ptr ptr) {
	CURRENT(device)
	WORDS((uint64_t)device, ptr);
	return gaugeblock_do(GAUGEBLOCK_IPC_CLOSE, w);
}

// Streams and events.

GAUGEBLOCK_API Result cuStreamCreate(void **stream, unsigned flags) {
	CURRENT(device)
	(void)flags;
	WORDS((uint64_t)device);
	return made(stream, gaugeblock_do(GAUGEBLOCK_STREAM_CREATE, w), w);
}

GAUGEBLOCK_API Result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
	(void)priority;
	return cuStreamCreate(stream, flags);
}

GAUGEBLOCK_API Result cuStreamDestroy_v2(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_DESTROY, w);
}

GAUGEBLOCK_API Result cuStreamSynchronize(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_SYNCHRONIZE, w);
}

GAUGEBLOCK_API Result cuStreamQuery(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_QUERY, w);
}

GAUGEBLOCK_API Result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
	ON(stream, number, device)
	(void)flags;
	WORDS(device, number, P(event));
	return gaugeblock_do(GAUGEBLOCK_STREAM_WAIT, w);
}

GAUGEBLOCK_API Result cuStreamWaitValue32_v2(void *stream, Ptr ptr, uint32_t value, unsigned flags) {
	ON(stream, number, device)
	if (flags != 0) {
		return gaugeblock_lacks("cuStreamWaitValue32 with another comparison than >=");
	}
	WORDS(device, number, ptr, value);
	return gaugeblock_do(GAUGEBLOCK_WAIT_VALUE, w);
}

GAUGEBLOCK_API Result cuStreamWriteValue32_v2(void *stream, Ptr ptr, uint32_t value, unsigned flags) {
	(void)stream, (void)ptr, (void)value, (void)flags;
	return gaugeblock_lacks("cuStreamWriteValue32");
}

GAUGEBLOCK_API Result cuStreamGetCtx(void *stream, void **context) {
	ON(stream, number, device)
	(void)number;
	*context = &contexts[device];
	return 0;
}

GAUGEBLOCK_API Result cuEventCreate(void **event, unsigned flags) {
	CURRENT(device)
	WORDS((uint64_t)device, 0, flags);
	return made(event, gaugeblock_do(GAUGEBLOCK_EVENT_CREATE, w), w);
}

GAUGEBLOCK_API Result cuEventRecord(void *event, void *stream) {
	ON(stream, number, device)
	WORDS(P(event), device, number);
	return gaugeblock_do(GAUGEBLOCK_EVENT_RECORD, w);
}

GAUGEBLOCK_API Result cuEventQuery(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_QUERY, w);
}

GAUGEBLOCK_API Result cuEventSynchronize(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_SYNCHRONIZE, w);
}

GAUGEBLOCK_API Result cuEventDestroy_v2(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_DESTROY, w);
}

// Captures and graphs.

GAUGEBLOCK_API Result cuThreadExchangeStreamCaptureMode(int *mode) {
	if (*mode < 0 || *mode > 2) {
		return INVALID_VALUE;
	}
	*mode = gaugeblock_mode(1, *mode);
	return 0;
}

GAUGEBLOCK_API Result cuStreamIsCapturing(void *stream, int *status) {
	ON(stream, number, device)
	WORDS(device, number, 0, 0, 0, P(gaugeblock_nodes()), MAX_NODES);
	int r = gaugeblock_do(GAUGEBLOCK_CAPTURE_INFO, w);
	*status = (int)w[2];
	return r;
}

GAUGEBLOCK_API Result cuStreamBeginCapture_v2(void *stream, int mode) {
	ON(stream, number, device)
	WORDS(device, number, (uint64_t)mode);
	return gaugeblock_do(GAUGEBLOCK_CAPTURE_BEGIN, w);
}

GAUGEBLOCK_API Result cuStreamEndCapture(void *stream, void **graph) {
	ON(stream, number, device)
	WORDS(device, number);
	int r = gaugeblock_do(GAUGEBLOCK_CAPTURE_END, w);
	*graph = r == 0 ? (void *)w[2] : NULL;
	return r;
}

GAUGEBLOCK_API Result cuStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count) {
	ON(stream, number, device)
	return gaugeblock_capture_info(device, number, status, id, graph, nodes, edges, count);
}

GAUGEBLOCK_API Result cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, size_t *count) {
	return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}

GAUGEBLOCK_API Result cuGraphNodeGetDependencies_v2(void *node, void **nodes, void *edges, size_t *count) {
	return gaugeblock_node_dependencies(node, nodes, edges, count);
}

GAUGEBLOCK_API Result cuGraphNodeGetDependencies(void *node, void **nodes, size_t *count) {
	return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

GAUGEBLOCK_API Result cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
	(void)flags;
	WORDS(P(graph));
	return made(exec, gaugeblock_do(GAUGEBLOCK_GRAPH_INSTANTIATE, w), w);
}

GAUGEBLOCK_API Result cuGraphLaunch(void *exec, void *stream) {
	ON(stream, number, device)
	WORDS(P(exec), device, number);
	gaugeblock_replayed();
	return gaugeblock_do(GAUGEBLOCK_GRAPH_LAUNCH, w);
}

GAUGEBLOCK_API Result cuGraphDestroy(void *graph) {
	WORDS(P(graph));
	return gaugeblock_do(GAUGEBLOCK_GRAPH_DESTROY, w);
}

GAUGEBLOCK_API Result cuGraphExecDestroy(void *exec) {
	WORDS(P(exec));
	return gaugeblock_do(GAUGEBLOCK_EXEC_DESTROY, w);
}

// Work.

GAUGEBLOCK_API Result cuMemsetD8Async(Ptr ptr, unsigned char value, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, ptr, bytes, value);
	return gaugeblock_do(GAUGEBLOCK_FILL, w);
}

GAUGEBLOCK_API Result cuMemsetD32Async(Ptr ptr, unsigned value, size_t words, void *stream) {
	if (value != (value & 0xff) * 0x01010101u) {
		return gaugeblock_lacks("cuMemsetD32Async with four different bytes");
	}
	return cuMemsetD8Async(ptr, (unsigned char)value, 4 * words, stream);
}

GAUGEBLOCK_API Result cuMemcpyDtoDAsync_v2(Ptr dst, Ptr src, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, dst, device, src, device, bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY, w);
}

GAUGEBLOCK_API Result cuMemcpyPeerAsync(Ptr dst, void *dst_context, Ptr src, void *src_context, size_t bytes, void *stream) {
	ON(stream, number, device)
	int to = context_device(dst_context), from = context_device(src_context);
	if (to < 0 || from < 0) {
		return INVALID_CONTEXT;
	}
	WORDS(device, number, dst, (uint64_t)to, src, (uint64_t)from, bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY, w);
}

GAUGEBLOCK_API Result cuMemcpyDtoHAsync_v2(void *dst, Ptr src, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, P(dst), src, bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY_OUT, w);
}

GAUGEBLOCK_API Result cuMemcpyHtoDAsync_v2(Ptr dst, const void *src, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, dst, P(src), bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY_IN, w);
}

GAUGEBLOCK_API Result cuLaunchHostFunc(void *stream, void *function, void *data) {
	ON(stream, number, device)
	WORDS(device, number, P(function), P(data));
	return gaugeblock_do(GAUGEBLOCK_HOST_FUNCTION, w);
}

GAUGEBLOCK_API Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
	(void)version, (void)flags;
	*function = gaugeblock_entry(name);
	if (status != NULL) {
		*status = *function == NULL ? 1 : 0;
	}
	if (*function == NULL) {
		gaugeblock_lacks(name);
		return SYMBOL_NOT_FOUND;
	}
	return 0;
}

// Functions that the entry points of some programs name, and that are not there.
#define LACKS(name) \
	GAUGEBLOCK_API Result name(void) { return gaugeblock_lacks(#name); }
LACKS(cuLogsRegisterCallback) // PyTorch 2.14 takes it if it is there
LACKS(cuLogsUnregisterCallback)
LACKS(cuMemRetainAllocationHandle)
LACKS(cuMemGetAllocationPropertiesFromHandle)

// What is not CUDA's: gaugeblock_cuda.h.

GAUGEBLOCK_API int gaugeblock_launch(void *stream, const char *name, const void *reads, size_t num_reads,
	const void *writes, size_t num_writes) {
	uint64_t number, device;
	int r = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device);
	if (r != 0) {
		return r;
	}
	WORDS(device, number, P(name), P(reads), num_reads, P(writes), num_writes);
	return gaugeblock_do(GAUGEBLOCK_LAUNCH, w);
}

GAUGEBLOCK_API int gaugeblock_compute(void *stream, const void *kernel) {
	uint64_t number, device;
	int r = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device);
	if (r != 0) {
		return r;
	}
	WORDS(device, number, P(kernel));
	return gaugeblock_do(GAUGEBLOCK_COMPUTE, w);
}

GAUGEBLOCK_API int gaugeblock_bytes_in_host(void) {
	WORDS(0);
	return gaugeblock_do(GAUGEBLOCK_BYTES_IN_HOST, w) == 0 ? (int)w[0] : 0;
}

static int on_stream(int operation, void *stream) {
	uint64_t number, device;
	int r = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device);
	if (r != 0) {
		return r;
	}
	WORDS(device, number);
	return gaugeblock_do(operation, w);
}

GAUGEBLOCK_API int gaugeblock_busy(void *stream) { return on_stream(GAUGEBLOCK_BUSY, stream); }
GAUGEBLOCK_API int gaugeblock_drain(void *stream) { return on_stream(GAUGEBLOCK_DRAIN, stream); }

GAUGEBLOCK_API int gaugeblock_allocated(const void *ptr, size_t bytes, void *stream) {
	uint64_t number, device;
	int r = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device);
	if (r != 0) {
		return r;
	}
	WORDS(device, number, P(ptr), bytes);
	return gaugeblock_do(GAUGEBLOCK_ALLOCATED, w);
}

GAUGEBLOCK_API int gaugeblock_freed(const void *ptr) {
	WORDS(P(ptr));
	return gaugeblock_do(GAUGEBLOCK_FREED, w);
}

GAUGEBLOCK_API int gaugeblock_set_free(int device, size_t bytes) {
	WORDS((uint64_t)device, bytes);
	return gaugeblock_do(GAUGEBLOCK_SET_FREE, w);
}

GAUGEBLOCK_API int gaugeblock_fault(const char *call, int nth, const char *error) {
	WORDS(P(call), (uint64_t)nth, P(error));
	return gaugeblock_do(GAUGEBLOCK_FAULT, w);
}

GAUGEBLOCK_API void gaugeblock_release(const void *what) {
	WORDS(P(what));
	gaugeblock_do(GAUGEBLOCK_RELEASE, w);
}

GAUGEBLOCK_API void gaugeblock_acquire(const void *what) {
	WORDS(P(what));
	gaugeblock_do(GAUGEBLOCK_ACQUIRE, w);
}

GAUGEBLOCK_API int gaugeblock_hazards(void) {
	WORDS(0);
	return gaugeblock_do(GAUGEBLOCK_HAZARDS, w) == 0 ? (int)w[0] : 0;
}

GAUGEBLOCK_API int gaugeblock_hazard(int number, char *text, size_t size) {
	WORDS((uint64_t)number, P(text), size);
	return gaugeblock_do(GAUGEBLOCK_HAZARD, w) == 0 ? (int)w[3] : -1;
}

// The names without a version, for who looks them up by dlsym.
#define UNVERSIONED(name) GAUGEBLOCK_API __typeof__(name##_v2) name __attribute__((alias(#name "_v2")));
UNVERSIONED(cuCtxPopCurrent)
UNVERSIONED(cuCtxPushCurrent)
UNVERSIONED(cuDeviceGetUuid)
UNVERSIONED(cuDevicePrimaryCtxRelease)
UNVERSIONED(cuDeviceTotalMem)
UNVERSIONED(cuEventDestroy)
UNVERSIONED(cuGetProcAddress)
UNVERSIONED(cuIpcOpenMemHandle)
UNVERSIONED(cuMemAlloc)
UNVERSIONED(cuMemFree)
UNVERSIONED(cuMemGetAddressRange)
UNVERSIONED(cuMemGetInfo)
UNVERSIONED(cuMemHostGetDevicePointer)
UNVERSIONED(cuMemcpyDtoDAsync)
UNVERSIONED(cuMemcpyDtoHAsync)
UNVERSIONED(cuMemcpyHtoDAsync)
UNVERSIONED(cuStreamBeginCapture)
UNVERSIONED(cuStreamDestroy)
UNVERSIONED(cuStreamGetCaptureInfo)
UNVERSIONED(cuStreamWaitValue32)
UNVERSIONED(cuStreamWriteValue32)
