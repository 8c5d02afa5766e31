// The driver's interface: libcuda.so.1.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	int type, handles;
	Location location;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
} Properties;

int gaugeblock_device_there(int device) {
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_COUNT, w);
	return r != 0 ? r : device < 0 || (uint64_t)device >= w[0] ? INVALID_DEVICE : 0;
}

// made gives what an operation has made, which is in its second word, if it has not failed.
static int made(void **what, int failed, const uint64_t *words) {
	if (what == NULL) {
		return INVALID_VALUE;
	}
	if (failed == 0) {
		*what = (void *)words[1];
	}
	return failed;
}

API cuInit(unsigned flags) {
	if (flags != 0) {
		return INVALID_VALUE;
	}
	gaugeblock_initialize();
	return gaugeblock_device_there(0);
}

API cuDriverGetVersion(int *version) {
	if (version == NULL) {
		return INVALID_VALUE;
	}
	*version = 13000;
	return 0;
}

API cuGetErrorName(Result error, const char **name) {
	if (name == NULL) {
		return INVALID_VALUE;
	}
	*name = gaugeblock_error_name(error, 0);
	return *name == NULL ? INVALID_VALUE : 0;
}

API cuGetErrorString(Result error, const char **text) {
	if (text == NULL) {
		return INVALID_VALUE;
	}
	*text = gaugeblock_error_text(error);
	return *text == NULL ? INVALID_VALUE : 0;
}

API cuDeviceGetCount(int *count) {
	if (count == NULL) {
		return INVALID_VALUE;
	}
	if (!gaugeblock_initialized()) {
		return NOT_INITIALIZED;
	}
	WORDS(0);
	int r = gaugeblock_do(GAUGEBLOCK_COUNT, w);
	*count = (int)w[0];
	return r;
}

API cuDeviceGet(int *device, int ordinal) {
	if (device == NULL) {
		return INVALID_VALUE;
	}
	int r = gaugeblock_device_there(ordinal);
	if (r == 0) {
		*device = ordinal;
	}
	return r;
}

API cuDeviceGetName(char *name, int size, int device) {
	if (name == NULL || size <= 0) {
		return INVALID_VALUE;
	}
	char text[256];
	WORDS((uint64_t)device, 0, 0, P(text));
	int r = gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	if (r == 0) {
		strncpy(name, text, (size_t)size - 1);
		name[size - 1] = 0;
	}
	return r;
}

API cuDeviceTotalMem_v2(size_t *bytes, int device) {
	if (bytes == NULL) {
		return INVALID_VALUE;
	}
	char text[256];
	WORDS((uint64_t)device, 0, 0, P(text));
	int r = gaugeblock_do(GAUGEBLOCK_PROPERTIES, w);
	*bytes = w[1];
	return r;
}

API cuDeviceGetAttribute(int *value, int attribute, int device) {
	if (value == NULL) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)device, (uint64_t)attribute);
	int r = gaugeblock_do(GAUGEBLOCK_ATTRIBUTE, w);
	*value = (int)w[2];
	return r;
}

API cuDeviceComputeCapability(int *major, int *minor, int device) {
	int r = cuDeviceGetAttribute(major, 75, device);
	return r != 0 ? r : cuDeviceGetAttribute(minor, 76, device);
}

API cuDeviceGetUuid_v2(char *uuid, int device) {
	if (uuid == NULL) {
		return INVALID_VALUE;
	}
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		memset(uuid, 0, 16);
		uuid[0] = (char)(device + 1);
	}
	return r;
}

API cuDeviceGetUuid(char *uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

API cuDeviceGetPCIBusId(char *id, int size, int device) {
	if (id == NULL || size <= 0) {
		return INVALID_VALUE;
	}
	int r = gaugeblock_device_there(device);
	if (r == 0) {
		snprintf(id, (size_t)size, "0000:%02X:00.0", device + 1);
	}
	return r;
}

API cuDeviceCanAccessPeer(int *can, int device, int peer) {
	if (can == NULL) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)device, (uint64_t)peer);
	int r = gaugeblock_do(GAUGEBLOCK_PEER_CAN, w);
	*can = (int)w[2];
	return r;
}

// Memory.

API cuMemAlloc_v2(Ptr *ptr, size_t bytes) {
	if (ptr == NULL) {
		return INVALID_VALUE;
	}
	CURRENT(device)
	WORDS((uint64_t)device, bytes);
	int r = gaugeblock_do(GAUGEBLOCK_MALLOC, w);
	if (r == 0) {
		*ptr = w[2];
		gaugeblock_context_has(*ptr);
	}
	return r;
}

API cuMemFree_v2(Ptr ptr) {
	if (ptr == 0 && gaugeblock_context_unusable() == INVALID_CONTEXT) {
		return 0;
	}
	CURRENT(device)
	if (gaugeblock_host_find((void *)ptr, NULL)) {
		int r = gaugeblock_host_pool_free((void *)ptr, (uint64_t)device, 0);
		return r >= 0 ? r : gaugeblock_host_free((void *)ptr, HOST_MANAGED);
	}
	WORDS(ptr);
	int r = gaugeblock_do(GAUGEBLOCK_FREE, w);
	if (r == 0) {
		gaugeblock_context_lost(ptr);
	}
	return r;
}

API cuMemAlloc(Ptr *ptr, size_t bytes) { return cuMemAlloc_v2(ptr, bytes); }

API cuMemAllocPitch_v2(Ptr *ptr, size_t *pitch, size_t width, size_t height, unsigned element) {
	if (pitch == NULL) {
		return INVALID_VALUE;
	}
	enum { PITCH = 512 };
	(void)element;
	size_t bytes, row = (width + PITCH - 1) / PITCH * PITCH;
	if (row < width || __builtin_mul_overflow(row, height, &bytes)) {
		return OUT_OF_MEMORY;
	}
	*pitch = row;
	return cuMemAlloc_v2(ptr, bytes);
}

API cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags) {
	enum { KNOWN = 7, MAPPED = 2 }; // devices have all of it at its address
	if (flags & ~KNOWN || ptr == NULL) {
		return INVALID_VALUE;
	}
	return gaugeblock_host_alloc(ptr, bytes, HOST_PINNED, flags | MAPPED);
}

API cuMemAllocHost_v2(void **ptr, size_t bytes) { return cuMemHostAlloc(ptr, bytes, 0); }
API cuMemFreeHost(void *ptr) { return gaugeblock_host_free(ptr, HOST_PINNED); }
API cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags) { return gaugeblock_pin(ptr, bytes, flags); }
API cuMemHostUnregister(void *ptr) { return gaugeblock_unpin(ptr); }

API cuMemHostGetFlags(unsigned *flags, void *ptr) {
	if (flags == NULL) {
		return INVALID_VALUE;
	}
	HostMemory h;
	if (!gaugeblock_host_find(ptr, &h)) {
		return INVALID_VALUE;
	}
	*flags = h.flags;
	return 0;
}

API cuMemHostGetDevicePointer_v2(Ptr *device, void *host, unsigned flags) {
	if (device == NULL) {
		return INVALID_VALUE;
	}
	if (flags != 0 || !gaugeblock_host_find(host, NULL)) {
		return INVALID_VALUE;
	}
	*device = P(host);
	return 0;
}

API cuMemGetInfo_v2(size_t *available, size_t *total) {
	if (available == NULL || total == NULL) {
		return INVALID_VALUE;
	}
	CURRENT(device)
	WORDS((uint64_t)device);
	int r = gaugeblock_do(GAUGEBLOCK_MEM_INFO, w);
	*available = w[1];
	*total = w[2];
	return r;
}

API cuMemAddressReserve(Ptr *ptr, size_t bytes, size_t alignment, Ptr address, unsigned long long flags) {
	if (ptr == NULL) {
		return INVALID_VALUE;
	}
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

API cuMemAddressFree(Ptr ptr, size_t bytes) {
	WORDS(ptr, bytes);
	return gaugeblock_do(GAUGEBLOCK_ADDRESS_FREE, w);
}

API cuMemCreate(uint64_t *page, size_t bytes, const Properties *p, unsigned long long flags) {
	if (page == NULL) {
		return INVALID_VALUE;
	}
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

API cuMemRelease(uint64_t page) {
	WORDS(page);
	return gaugeblock_do(GAUGEBLOCK_PAGE_RELEASE, w);
}

API cuMemMap(Ptr ptr, size_t bytes, size_t offset, uint64_t page, unsigned long long flags) {
	if (offset != 0) {
		return gaugeblock_lacks("cuMemMap with an offset");
	}
	if (flags != 0) {
		return INVALID_VALUE;
	}
	WORDS(ptr, bytes, page);
	return gaugeblock_do(GAUGEBLOCK_PAGE_MAP, w);
}

API cuMemUnmap(Ptr ptr, size_t bytes) {
	WORDS(ptr, bytes);
	return gaugeblock_do(GAUGEBLOCK_PAGE_UNMAP, w);
}

API cuMemSetAccess(Ptr ptr, size_t bytes, const Access *access, size_t count) {
	if (access == NULL) {
		return INVALID_VALUE;
	}
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

API cuMemGetAllocationGranularity(size_t *bytes, const Properties *p, int option) {
	if (bytes == NULL) {
		return INVALID_VALUE;
	}
	(void)p, (void)option;
	*bytes = 2 << 20;
	return 0;
}

API cuMemExportToShareableHandle(void *handle, uint64_t page, int type, unsigned long long flags) {
	(void)flags;
	if (handle == NULL) {
		return INVALID_VALUE;
	}
	WORDS(page, type == 8, P(handle));
	return gaugeblock_do(GAUGEBLOCK_PAGE_EXPORT, w);
}

API cuMemImportFromShareableHandle(uint64_t *page, void *handle, int type) {
	if (page == NULL) {
		return INVALID_VALUE;
	}
	if (handle == NULL) {
		return INVALID_VALUE;
	}
	WORDS(type == 8, P(handle));
	int r = gaugeblock_do(GAUGEBLOCK_PAGE_IMPORT, w);
	if (r == 0) {
		*page = w[2];
	}
	return r;
}

API cuIpcGetMemHandle(Handle *handle, Ptr ptr) {
	if (handle == NULL) {
		return INVALID_VALUE;
	}
	WORDS(ptr, P(handle));
	return gaugeblock_do(GAUGEBLOCK_IPC_GET, w);
}

API cuIpcOpenMemHandle_v2(Ptr *ptr, Handle handle, unsigned flags) {
	if (ptr == NULL) {
		return INVALID_VALUE;
	}
	CURRENT(device)
	(void)flags;
	WORDS((uint64_t)device, P(&handle));
	int r = gaugeblock_do(GAUGEBLOCK_IPC_OPEN, w);
	if (r == 0) {
		*ptr = w[2];
	}
	return r;
}

API cuIpcCloseMemHandle(Ptr ptr) {
	CURRENT(device)
	WORDS((uint64_t)device, ptr);
	return gaugeblock_do(GAUGEBLOCK_IPC_CLOSE, w);
}

// Streams and events.

API cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
	CURRENT(device)
	if (stream == NULL) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)device, 0, flags, (uint64_t)(int64_t)priority);
	return made(stream, gaugeblock_do(GAUGEBLOCK_STREAM_CREATE, w), w);
}

API cuStreamCreate(void **stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

static Result making(void *stream, unsigned *flags, int *priority) {
	ON(stream, number, device)
	WORDS(device, number);
	int r = gaugeblock_do(GAUGEBLOCK_STREAM_GET, w);
	if (flags != NULL) {
		*flags = (unsigned)w[2];
	}
	if (priority != NULL) {
		*priority = (int)w[3];
	}
	return r;
}

API cuStreamGetFlags(void *stream, unsigned *flags) {
	return flags == NULL ? INVALID_VALUE : making(stream, flags, NULL);
}

API cuStreamGetPriority(void *stream, int *priority) {
	return priority == NULL ? INVALID_VALUE : making(stream, NULL, priority);
}

API cuStreamGetId(void *stream, unsigned long long *id) {
	if (id == NULL) {
		return INVALID_VALUE;
	}
	ON(stream, number, device)
	WORDS(device, number);
	int r = gaugeblock_do(GAUGEBLOCK_STREAM_ID, w);
	*id = w[2];
	return r;
}

API cuStreamGetDevice(void *stream, int *of) {
	if (of == NULL) {
		return INVALID_VALUE;
	}
	ON(stream, number, device)
	(void)number;
	*of = (int)device;
	return 0;
}

API cuStreamDestroy_v2(void *stream) {
	ON(stream, number, device)
	if (gaugeblock_is_default(stream)) {
		return INVALID_HANDLE;
	}
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_DESTROY, w);
}

API cuStreamSynchronize(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_SYNCHRONIZE, w);
}

API cuStreamQuery(void *stream) {
	ON(stream, number, device)
	WORDS(device, number);
	return gaugeblock_do(GAUGEBLOCK_STREAM_QUERY, w);
}

API cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
	ON(stream, number, device)
	(void)flags;
	WORDS(device, number, P(event));
	return gaugeblock_do(GAUGEBLOCK_STREAM_WAIT, w);
}

API cuStreamWaitValue32_v2(void *stream, Ptr ptr, uint32_t value, unsigned flags) {
	ON(stream, number, device)
	if (flags != 0) {
		return gaugeblock_lacks("cuStreamWaitValue32 with another comparison than >=");
	}
	WORDS(device, number, ptr, value);
	return gaugeblock_do(GAUGEBLOCK_WAIT_VALUE, w);
}

API cuStreamWriteValue32_v2(void *stream, Ptr ptr, uint32_t value, unsigned flags) {
	(void)stream, (void)ptr, (void)value, (void)flags;
	return gaugeblock_lacks("cuStreamWriteValue32");
}

API cuEventCreate(void **event, unsigned flags) {
	enum { KNOWN = 7 };
	CURRENT(device)
	if (flags & ~KNOWN) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)device, 0, flags);
	return made(event, gaugeblock_do(GAUGEBLOCK_EVENT_CREATE, w), w);
}

API cuEventRecord(void *event, void *stream) {
	ON(stream, number, device)
	WORDS(P(event), device, number);
	return gaugeblock_do(GAUGEBLOCK_EVENT_RECORD, w);
}

API cuEventElapsedTime_v2(float *ms, void *from, void *to) {
	if (ms == NULL) {
		return INVALID_VALUE;
	}
	WORDS(P(from), P(to));
	int r = gaugeblock_do(GAUGEBLOCK_EVENT_ELAPSED, w);
	if (r == 0) {
		*ms = (float)((double)(int64_t)w[2] / 1e6);
	}
	return r;
}

API cuEventElapsedTime(float *ms, void *from, void *to) { return cuEventElapsedTime_v2(ms, from, to); }

API cuEventQuery(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_QUERY, w);
}

API cuEventSynchronize(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_SYNCHRONIZE, w);
}

API cuEventDestroy_v2(void *event) {
	WORDS(P(event));
	return gaugeblock_do(GAUGEBLOCK_EVENT_DESTROY, w);
}

// Captures and graphs.

API cuThreadExchangeStreamCaptureMode(int *mode) {
	if (mode == NULL) {
		return INVALID_VALUE;
	}
	if (*mode < 0 || *mode > 2) {
		return INVALID_VALUE;
	}
	*mode = gaugeblock_mode(1, *mode);
	return 0;
}

API cuStreamIsCapturing(void *stream, int *status) {
	if (status == NULL) {
		return INVALID_VALUE;
	}
	ON(stream, number, device)
	WORDS(device, number, 0, 0, 0, P(gaugeblock_nodes()), MAX_NODES);
	int r = gaugeblock_do(GAUGEBLOCK_CAPTURE_INFO, w);
	*status = (int)w[2];
	return r;
}

API cuStreamBeginCapture_v2(void *stream, int mode) {
	ON(stream, number, device)
	WORDS(device, number, (uint64_t)mode);
	return gaugeblock_do(GAUGEBLOCK_CAPTURE_BEGIN, w);
}

API cuStreamBeginCapture(void *stream) { return cuStreamBeginCapture_v2(stream, 0); }

API cuStreamEndCapture(void *stream, void **graph) {
	if (graph == NULL) {
		return INVALID_VALUE;
	}
	ON(stream, number, device)
	WORDS(device, number);
	int r = gaugeblock_do(GAUGEBLOCK_CAPTURE_END, w);
	*graph = r == 0 ? (void *)w[2] : NULL;
	return r;
}

API cuStreamGetCaptureInfo_v3(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, const void **edges, size_t *count) {
	ON(stream, number, device)
	return gaugeblock_capture_info(device, number, status, id, graph, nodes, edges, count);
}

API cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
	const void *const **nodes, size_t *count) {
	return cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}

API cuStreamGetCaptureInfo(void *stream, int *status, uint64_t *id) {
	return cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

API cuGraphNodeGetDependencies_v2(void *node, void **nodes, void *edges, size_t *count) {
	return gaugeblock_node_dependencies(node, nodes, edges, count);
}

API cuGraphNodeGetDependencies(void *node, void **nodes, size_t *count) {
	return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

API cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
	(void)flags;
	WORDS(P(graph));
	return made(exec, gaugeblock_do(GAUGEBLOCK_GRAPH_INSTANTIATE, w), w);
}

API cuGraphLaunch(void *exec, void *stream) {
	ON(stream, number, device)
	WORDS(P(exec), device, number);
	gaugeblock_replayed();
	return gaugeblock_do(GAUGEBLOCK_GRAPH_LAUNCH, w);
}

API cuGraphDestroy(void *graph) {
	WORDS(P(graph));
	return gaugeblock_do(GAUGEBLOCK_GRAPH_DESTROY, w);
}

API cuGraphExecDestroy(void *exec) {
	WORDS(P(exec));
	return gaugeblock_do(GAUGEBLOCK_EXEC_DESTROY, w);
}

// Work.

API cuMemsetD8Async(Ptr ptr, unsigned char value, size_t bytes, void *stream) {
	ON(stream, number, device)
	gaugeblock_filled((void *)ptr, value, bytes);
	WORDS(device, number, ptr, bytes, value);
	return gaugeblock_do(GAUGEBLOCK_FILL, w);
}

API cuMemsetD32Async(Ptr ptr, unsigned value, size_t words, void *stream) {
	if (value != (value & 0xff) * 0x01010101u) {
		return gaugeblock_lacks("cuMemsetD32Async with four different bytes");
	}
	return cuMemsetD8Async(ptr, (unsigned char)value, 4 * words, stream);
}

API cuMemcpyDtoDAsync_v2(Ptr dst, Ptr src, size_t bytes, void *stream) {
	ON(stream, number, device)
	gaugeblock_copied((void *)dst, (void *)src, bytes);
	WORDS(device, number, dst, device, src, device, bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY, w);
}

API cuMemcpyPeerAsync(Ptr dst, void *dst_context, Ptr src, void *src_context, size_t bytes, void *stream) {
	ON(stream, number, device)
	int to = gaugeblock_context_device(dst_context), from = gaugeblock_context_device(src_context);
	if (to < 0 || from < 0) {
		return INVALID_CONTEXT;
	}
	WORDS(device, number, dst, (uint64_t)to, src, (uint64_t)from, bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY, w);
}

API cuMemcpyDtoHAsync_v2(void *dst, Ptr src, size_t bytes, void *stream) {
	ON(stream, number, device)
	WORDS(device, number, P(dst), src, bytes);
	int r = gaugeblock_do(GAUGEBLOCK_COPY_OUT, w);
	gaugeblock_downloaded(dst, (void *)src, bytes);
	return r;
}

API cuMemcpyHtoDAsync_v2(Ptr dst, const void *src, size_t bytes, void *stream) {
	ON(stream, number, device)
	gaugeblock_uploaded((void *)dst, src, bytes);
	WORDS(device, number, dst, P(src), bytes);
	return gaugeblock_do(GAUGEBLOCK_COPY_IN, w);
}

// The forms without a stream are work of the legacy default stream, and the host waits for it.
static Result waited(int failed) {
	if (failed != 0) {
		return failed;
	}
	ON(NULL, number, device)
	WORDS(device, number, 1);
	int mode = gaugeblock_mode(1, 2); // relaxed: no capture forbids this wait
	int r = gaugeblock_do(GAUGEBLOCK_STREAM_SYNCHRONIZE, w);
	gaugeblock_mode(1, mode);
	return r;
}

API cuMemcpyDtoD_v2(Ptr dst, Ptr src, size_t bytes) { return cuMemcpyDtoDAsync_v2(dst, src, bytes, NULL); }
API cuMemcpyDtoH_v2(void *dst, Ptr src, size_t bytes) { return waited(cuMemcpyDtoHAsync_v2(dst, src, bytes, NULL)); }
API cuMemcpyHtoD_v2(Ptr dst, const void *src, size_t bytes) { return waited(cuMemcpyHtoDAsync_v2(dst, src, bytes, NULL)); }
API cuMemsetD8_v2(Ptr ptr, unsigned char value, size_t bytes) { return cuMemsetD8Async(ptr, value, bytes, NULL); }
API cuMemsetD32_v2(Ptr ptr, unsigned value, size_t words) { return cuMemsetD32Async(ptr, value, words, NULL); }

// cuMemcpyAsync sees from the addresses which side is a device's.
API cuMemcpyAsync(Ptr dst, Ptr src, size_t bytes, void *stream) {
	uint64_t to[8] = {dst}, from[8] = {src};
	int r = gaugeblock_do(GAUGEBLOCK_POINTER, to);
	r = r != 0 ? r : gaugeblock_do(GAUGEBLOCK_POINTER, from);
	if (r != 0) {
		return r;
	}
	if (to[1] != 0) {
		return from[1] != 0 ? cuMemcpyDtoDAsync_v2(dst, src, bytes, stream) : cuMemcpyHtoDAsync_v2(dst, (void *)src, bytes, stream);
	}
	return cuMemcpyDtoHAsync_v2((void *)dst, src, bytes, stream);
}

API cuMemcpy(Ptr dst, Ptr src, size_t bytes) { return waited(cuMemcpyAsync(dst, src, bytes, NULL)); }

API cuLaunchHostFunc(void *stream, void *function, void *data) {
	ON(stream, number, device)
	if (function == NULL) {
		return INVALID_VALUE;
	}
	WORDS(device, number, P(function), P(data));
	return gaugeblock_do(GAUGEBLOCK_HOST_FUNCTION, w);
}

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

GAUGEBLOCK_API void gaugeblock_watchdog_looks(int where) {
	WORDS((uint64_t)where);
	gaugeblock_do(GAUGEBLOCK_WATCHDOG_LOOKS, w);
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
UNVERSIONED(cuDeviceTotalMem)
UNVERSIONED(cuEventDestroy)
UNVERSIONED(cuIpcOpenMemHandle)
UNVERSIONED(cuMemFree)
UNVERSIONED(cuMemGetInfo)
UNVERSIONED(cuMemHostGetDevicePointer)
UNVERSIONED(cuMemcpyDtoDAsync)
UNVERSIONED(cuMemcpyDtoHAsync)
UNVERSIONED(cuMemcpyHtoDAsync)
UNVERSIONED(cuStreamDestroy)
UNVERSIONED(cuStreamWaitValue32)
UNVERSIONED(cuStreamWriteValue32)
