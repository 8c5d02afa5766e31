// Pools of the driver: of a device's memory, which the machine has, and of memory of the host.
#include "driver.h"

#include <stdlib.h>

enum { PINNED = 1, MANAGED = 2 }; // CUmemAllocationType
enum { DESCRIPTOR = 1 };          // CUmemAllocationHandleType

// The beginning of CUmemPoolProps.
typedef struct {
	int type, handles;
	Location location;
	void *win32;
	size_t most;
	unsigned short usage;
} PoolProperties;

static Result given(void **pool, int failed, const uint64_t *words) {
	if (pool == NULL || words == NULL) {
		return INVALID_VALUE;
	}
	if (failed == 0) {
		*pool = (void *)words[1];
	}
	return failed;
}

API cuDeviceGetDefaultMemPool(void **pool, int device) {
	WORDS((uint64_t)device);
	return pool == NULL ? INVALID_VALUE : given(pool, gaugeblock_do(GAUGEBLOCK_POOL_DEFAULT, w), w);
}

API cuDeviceGetMemPool(void **pool, int device) {
	WORDS((uint64_t)device);
	return pool == NULL || gaugeblock_device_there(device) != 0 ? INVALID_VALUE : given(pool, gaugeblock_do(GAUGEBLOCK_POOL_CURRENT, w), w);
}

API cuDeviceSetMemPool(int device, void *pool) {
	WORDS((uint64_t)device, P(pool));
	return gaugeblock_device_there(device) != 0 ? INVALID_VALUE : gaugeblock_do(GAUGEBLOCK_POOL_MAKE_CURRENT, w);
}

API cuMemPoolCreate(void **pool, const PoolProperties *p) {
	if (pool == NULL || p == NULL || p->type < PINNED || p->type > MANAGED) {
		return INVALID_VALUE;
	}
	if (p->type == MANAGED || (p->location.type >= PLACE_HOST && p->location.type <= PLACE_NEAREST_NODE)) {
		return gaugeblock_host_pool(pool, p->type == MANAGED ? HOST_MANAGED : HOST_PINNED);
	}
	if (p->location.type != PLACE_DEVICE || gaugeblock_device_there(p->location.id) != 0) {
		return INVALID_VALUE;
	}
	WORDS((uint64_t)p->location.id, 0, p->most, p->handles & DESCRIPTOR);
	return given(pool, gaugeblock_do(GAUGEBLOCK_POOL_CREATE, w), w);
}

API cuMemPoolDestroy(void *pool) {
	if (gaugeblock_is_host_pool(pool)) {
		return gaugeblock_host_pool_destroy(pool);
	}
	WORDS(P(pool));
	return gaugeblock_do(GAUGEBLOCK_POOL_DESTROY, w);
}

static Result allocate(Ptr *ptr, size_t bytes, void *pool, void *stream) {
	ON(stream, number, device)
	if (ptr == NULL) {
		return INVALID_VALUE;
	}
	if (gaugeblock_is_host_pool(pool)) {
		return gaugeblock_host_pool_malloc((void **)ptr, bytes, pool);
	}
	WORDS(device, P(pool), number, bytes);
	int r = gaugeblock_do(GAUGEBLOCK_POOL_MALLOC, w);
	if (r == 0) {
		*ptr = w[4];
	}
	return r;
}

API cuMemAllocFromPoolAsync(Ptr *ptr, size_t bytes, void *pool, void *stream) {
	return pool == NULL ? INVALID_VALUE : allocate(ptr, bytes, pool, stream);
}

API cuMemAllocAsync(Ptr *ptr, size_t bytes, void *stream) { return allocate(ptr, bytes, NULL, stream); }

API cuMemFreeAsync(Ptr ptr, void *stream) {
	ON(stream, number, device)
	int r = gaugeblock_host_pool_free((void *)ptr, device, number);
	if (r >= 0) {
		return r;
	}
	HostMemory h;
	if (gaugeblock_host_find((void *)ptr, &h) && h.kind == HOST_MANAGED) {
		return NOT_SUPPORTED;
	}
	WORDS(device, ptr, number);
	return gaugeblock_do(GAUGEBLOCK_POOL_FREE, w);
}

API cuMemPoolTrimTo(void *pool, size_t keep) {
	if (gaugeblock_is_host_pool(pool)) {
		return 0;
	}
	WORDS(P(pool), keep);
	return gaugeblock_do(GAUGEBLOCK_POOL_TRIM, w);
}

// The first three attributes are integers, the others 64 bits.
API cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
	if (value == NULL) {
		return INVALID_VALUE;
	}
	WORDS(P(pool), (uint64_t)attribute);
	int r = gaugeblock_is_host_pool(pool) ? gaugeblock_host_pool_get(pool, attribute, &w[2]) : gaugeblock_do(GAUGEBLOCK_POOL_GET, w);
	if (r == 0 && attribute <= 3) {
		*(int *)value = (int)w[2];
	} else if (r == 0) {
		*(uint64_t *)value = w[2];
	}
	return r;
}

API cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
	if (value == NULL) {
		return INVALID_VALUE;
	}
	WORDS(P(pool), (uint64_t)attribute, attribute <= 3 ? (uint64_t)*(int *)value : *(uint64_t *)value);
	return gaugeblock_is_host_pool(pool) ? 0 : gaugeblock_do(GAUGEBLOCK_POOL_SET, w);
}

API cuMemPoolSetAccess(void *pool, const Access *access, size_t count) {
	if (access == NULL) {
		return INVALID_VALUE;
	}
	if (gaugeblock_is_host_pool(pool)) {
		return gaugeblock_host_pool_reached(pool);
	}
	for (size_t i = 0; i < count; i++) {
		WORDS(P(pool), (uint64_t)access[i].location.id);
		int r = gaugeblock_do(GAUGEBLOCK_POOL_ACCESS, w);
		if (r != 0) {
			return r;
		}
	}
	return 0;
}

// Pools that others open. What stands for a piece of memory is a number in 64 bytes.
typedef struct { uint64_t number, rest[7]; } PieceData;

API cuMemPoolExportToShareableHandle(void *handle, void *pool, int type, unsigned long long flags) {
	if (handle == NULL || type != DESCRIPTOR || flags != 0 || gaugeblock_is_host_pool(pool)) {
		return INVALID_VALUE;
	}
	WORDS(P(pool), 0, P(handle));
	return gaugeblock_do(GAUGEBLOCK_POOL_EXPORT, w);
}

API cuMemPoolImportFromShareableHandle(void **pool, void *handle, int type, unsigned long long flags) {
	if (pool == NULL || type != DESCRIPTOR || flags != 0) {
		return INVALID_VALUE;
	}
	WORDS(0, P(handle));
	int r = gaugeblock_do(GAUGEBLOCK_POOL_IMPORT, w);
	if (r == 0) {
		*pool = (void *)w[2];
	}
	return r;
}

API cuMemPoolExportPointer(PieceData *data, Ptr ptr) {
	if (data == NULL) {
		return INVALID_VALUE;
	}
	WORDS(ptr);
	int r = gaugeblock_do(GAUGEBLOCK_PIECE_EXPORT, w);
	if (r == 0) {
		*data = (PieceData){w[1], {0}};
	}
	return r;
}

API cuMemPoolImportPointer(Ptr *ptr, void *pool, const PieceData *data) {
	if (ptr == NULL || data == NULL) {
		return INVALID_VALUE;
	}
	WORDS(P(pool), data->number);
	int r = gaugeblock_do(GAUGEBLOCK_PIECE_IMPORT, w);
	if (r == 0) {
		*ptr = w[2];
	}
	return r;
}

// Pools by place and kind of memory, as CUDA 13 has them.

API cuMemGetDefaultMemPool(void **pool, const Location *place, int type) {
	if (place == NULL) {
		return INVALID_VALUE;
	}
	if (type == PINNED && place->type == PLACE_DEVICE) {
		return cuDeviceGetDefaultMemPool(pool, place->id);
	}
	if (type != MANAGED && place->type == PLACE_NONE) {
		return INVALID_VALUE;
	}
	return gaugeblock_host_pool_of(pool, type == MANAGED ? HOST_MANAGED : HOST_PINNED);
}

API cuMemGetMemPool(void **pool, const Location *place, int type) {
	if (place == NULL) {
		return INVALID_VALUE;
	}
	if (type == PINNED && place->type == PLACE_DEVICE) {
		return cuDeviceGetMemPool(pool, place->id);
	}
	return cuMemGetDefaultMemPool(pool, place, type);
}

API cuMemSetMemPool(const Location *place, int type, void *pool) {
	if (place == NULL) {
		return INVALID_VALUE;
	}
	if (type == PINNED && place->type == PLACE_DEVICE) {
		return cuDeviceSetMemPool(place->id, pool);
	}
	return gaugeblock_lacks("cuMemSetMemPool of memory of the host");
}
