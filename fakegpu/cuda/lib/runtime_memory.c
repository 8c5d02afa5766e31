// The runtime's interface: memory of the host, managed memory, what pointers lead to, and pools of the
// driver. Most of it is the driver's function of the same name.
#include "runtime.h"

#include <string.h>

GAUGEBLOCK_API Error cudaHostAlloc(void **ptr, size_t bytes, unsigned flags) {
	return DRIVER(cuMemHostAlloc(ptr, bytes, flags));
}

GAUGEBLOCK_API Error cudaMallocHost(void **ptr, size_t bytes) { return cudaHostAlloc(ptr, bytes, 0); }
GAUGEBLOCK_API Error cudaFreeHost(void *ptr) { return ended(gaugeblock_host_free(ptr, HOST_PINNED)); }

GAUGEBLOCK_API Error cudaHostRegister(void *ptr, size_t bytes, unsigned flags) {
	return ended(gaugeblock_pin(ptr, bytes, flags));
}

GAUGEBLOCK_API Error cudaHostUnregister(void *ptr) { return ended(gaugeblock_unpin(ptr)); }

GAUGEBLOCK_API Error cudaHostGetDevicePointer(void **device, void *ptr, unsigned flags) {
	return DRIVER(cuMemHostGetDevicePointer_v2((Ptr *)device, ptr, flags));
}

GAUGEBLOCK_API Error cudaHostGetFlags(unsigned *flags, void *ptr) { return DRIVER(cuMemHostGetFlags(flags, ptr)); }

GAUGEBLOCK_API Error cudaMallocManaged(void **ptr, size_t bytes, unsigned flags) {
	if (ptr != NULL && bytes == 0) {
		*ptr = NULL;
		return 0;
	}
	return DRIVER(cuMemAllocManaged((Ptr *)ptr, bytes, flags));
}

// The kinds of memory that a pointer can lead to.
enum { UNREGISTERED, HOST, DEVICE, MANAGED };
typedef struct {
	int type, device;
	void *on_device, *on_host;
#if GAUGEBLOCK_CUDART >= 13
	long reserved[8];
#endif
} Pointer;

GAUGEBLOCK_API Error cudaPointerGetAttributes(Pointer *p, const void *ptr) {
	enum { NO_DEVICE = GAUGEBLOCK_CUDART >= 13 ? -2 : -1 };
	HostMemory h;
	if (p == NULL) {
		return ended(INVALID_VALUE);
	}
	WORDS(P(ptr));
	int r = DO(POINTER);
	void *at = (void *)ptr;
	memset(p, 0, sizeof *p);
	if (r == 0 && w[1] != 0) {
		*p = (Pointer){.type = DEVICE, .device = (int)w[2], .on_device = at};
	} else if (gaugeblock_host_find(ptr, &h)) {
		*p = (Pointer){.type = h.kind == HOST_MANAGED ? MANAGED : HOST, .device = h.device, .on_device = h.flags & HOST_NOT_REACHED ? NULL : at, .on_host = at};
	} else {
		*p = (Pointer){.type = UNREGISTERED, .device = NO_DEVICE, .on_host = at};
	}
	return r;
}

// Advice on managed memory. Before CUDA 13 a place is a device's number, and _v2 has what 13 has.

static Error prefetch(const void *ptr, size_t bytes, Location to, unsigned flags, void *stream) {
	return DRIVER(cuMemPrefetchAsync_v2(P(ptr), bytes, to, flags, stream));
}

static Error advise(const void *ptr, size_t bytes, int advice, Location place) {
	return DRIVER(cuMemAdvise_v2(P(ptr), bytes, advice, place));
}

#if GAUGEBLOCK_CUDART >= 13
GAUGEBLOCK_API Error cudaMemPrefetchAsync(const void *ptr, size_t bytes, Location to, unsigned flags, void *stream) {
	return prefetch(ptr, bytes, to, flags, stream);
}

GAUGEBLOCK_API Error cudaMemAdvise(const void *ptr, size_t bytes, int advice, Location place) {
	return advise(ptr, bytes, advice, place);
}
#else
static Location place_of(int device) { return (Location){device < 0 ? PLACE_HOST : PLACE_DEVICE, device}; }

GAUGEBLOCK_API Error cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device, void *stream) {
	return prefetch(ptr, bytes, place_of(device), 0, stream);
}

GAUGEBLOCK_API Error cudaMemPrefetchAsync_v2(const void *ptr, size_t bytes, Location to, unsigned flags, void *stream) {
	return prefetch(ptr, bytes, to, flags, stream);
}

GAUGEBLOCK_API Error cudaMemAdvise(const void *ptr, size_t bytes, int advice, int device) {
	return advise(ptr, bytes, advice, place_of(device));
}

GAUGEBLOCK_API Error cudaMemAdvise_v2(const void *ptr, size_t bytes, int advice, Location place) {
	return advise(ptr, bytes, advice, place);
}
#endif

GAUGEBLOCK_API Error cudaMemRangeGetAttribute(void *data, size_t size, int attribute, const void *ptr, size_t bytes) {
	return DRIVER(cuMemRangeGetAttribute(data, size, attribute, P(ptr), bytes));
}

GAUGEBLOCK_API Error cudaMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, const void *ptr, size_t bytes) {
	return DRIVER(cuMemRangeGetAttributes(data, sizes, attributes, count, P(ptr), bytes));
}

GAUGEBLOCK_API Error cudaStreamAttachMemAsync(void *stream, void *ptr, size_t bytes, unsigned flags) {
	return DRIVER(cuStreamAttachMemAsync(stream, P(ptr), bytes, flags));
}

// Pools of the driver.

GAUGEBLOCK_API Error cudaDeviceGetDefaultMemPool(void **pool, int device) { return DRIVER(cuDeviceGetDefaultMemPool(pool, device)); }
GAUGEBLOCK_API Error cudaDeviceGetMemPool(void **pool, int device) { return DRIVER(cuDeviceGetMemPool(pool, device)); }
GAUGEBLOCK_API Error cudaDeviceSetMemPool(int device, void *pool) { return DRIVER(cuDeviceSetMemPool(device, pool)); }
GAUGEBLOCK_API Error cudaMemPoolCreate(void **pool, const void *properties) { return DRIVER(cuMemPoolCreate(pool, properties)); }
GAUGEBLOCK_API Error cudaMemPoolDestroy(void *pool) { return DRIVER(cuMemPoolDestroy(pool)); }

GAUGEBLOCK_API Error cudaMallocFromPoolAsync(void **ptr, size_t bytes, void *pool, void *stream) {
	return DRIVER(cuMemAllocFromPoolAsync((Ptr *)ptr, bytes, pool, stream));
}

GAUGEBLOCK_API Error cudaMallocAsync(void **ptr, size_t bytes, void *stream) {
	return DRIVER(cuMemAllocAsync((Ptr *)ptr, bytes, stream));
}

GAUGEBLOCK_API Error cudaFreeAsync(void *ptr, void *stream) { return DRIVER(cuMemFreeAsync(P(ptr), stream)); }
GAUGEBLOCK_API Error cudaMemPoolExportToShareableHandle(void *handle, void *pool, int type, unsigned flags) {
	return DRIVER(cuMemPoolExportToShareableHandle(handle, pool, type, flags));
}

GAUGEBLOCK_API Error cudaMemPoolImportFromShareableHandle(void **pool, void *handle, int type, unsigned flags) {
	return DRIVER(cuMemPoolImportFromShareableHandle(pool, handle, type, flags));
}

GAUGEBLOCK_API Error cudaMemPoolExportPointer(void *data, void *ptr) { return DRIVER(cuMemPoolExportPointer(data, P(ptr))); }

GAUGEBLOCK_API Error cudaMemPoolImportPointer(void **ptr, void *pool, void *data) {
	return DRIVER(cuMemPoolImportPointer((uint64_t *)ptr, pool, data));
}

GAUGEBLOCK_API Error cudaMemPoolTrimTo(void *pool, size_t keep) { return DRIVER(cuMemPoolTrimTo(pool, keep)); }

GAUGEBLOCK_API Error cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
	return DRIVER(cuMemPoolGetAttribute(pool, attribute, value));
}

GAUGEBLOCK_API Error cudaMemPoolSetAttribute(void *pool, int attribute, void *value) {
	return DRIVER(cuMemPoolSetAttribute(pool, attribute, value));
}

GAUGEBLOCK_API Error cudaMemPoolSetAccess(void *pool, const Access *access, size_t count) {
	return DRIVER(cuMemPoolSetAccess(pool, access, count));
}

GAUGEBLOCK_API Error cudaMemGetDefaultMemPool(void **pool, const Location *place, int type) {
	return DRIVER(cuMemGetDefaultMemPool(pool, place, type));
}

GAUGEBLOCK_API Error cudaMemGetMemPool(void **pool, const Location *place, int type) {
	return DRIVER(cuMemGetMemPool(pool, place, type));
}

GAUGEBLOCK_API Error cudaMemSetMemPool(const Location *place, int type, void *pool) {
	return DRIVER(cuMemSetMemPool(place, type, pool));
}
