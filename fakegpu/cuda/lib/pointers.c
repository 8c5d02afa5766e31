// What pointers lead to, as the driver tells it: memory of a device, or of the host.
#include "driver.h"

#include <string.h>

// Pointed is what is known of a pointer.
typedef struct {
	int there, on_host, managed, registered, device;
	uint64_t pool;
	Ptr at, from;
	size_t bytes;
} Pointed;

static int look(Ptr ptr, Pointed *p) {
	HostMemory h;
	WORDS(ptr);
	memset(p, 0, sizeof *p);
	p->at = ptr;
	int r = gaugeblock_do(GAUGEBLOCK_POINTER, w);
	if (r == 0 && w[1] != 0) {
		p->there = 1, p->device = (int)w[2], p->from = w[3], p->bytes = w[4], p->pool = w[5];
	} else if (r == 0 && gaugeblock_host_find((void *)ptr, &h)) {
		p->there = p->on_host = 1, p->managed = h.kind == HOST_MANAGED, p->registered = h.kind == HOST_REGISTERED;
		p->device = h.device, p->from = h.from, p->bytes = h.to - h.from;
	}
	return r;
}

API cuMemGetAddressRange_v2(Ptr *base, size_t *bytes, Ptr ptr) {
	Pointed p;
	int r = look(ptr, &p);
	if (r == 0 && !p.there) {
		return SYMBOL_NOT_FOUND;
	}
	if (base != NULL) {
		*base = p.from;
	}
	if (bytes != NULL) {
		*bytes = p.bytes;
	}
	return r;
}

// The attributes of pointers (CUpointer_attribute).
enum {
	CONTEXT = 1, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, TOKENS, SYNC_MEMOPS, BUFFER_ID, IS_MANAGED, ORDINAL,
	LEGACY_IPC, RANGE_START, RANGE_SIZE, MAPPED, HANDLE_TYPES, GPU_DIRECT_RDMA, ACCESS_FLAGS, MEMPOOL,
	MAPPING_SIZE, MAPPING_BASE, BLOCK_ID
};
enum { STEP = 2 << 20, POOL_STEP = 32 << 20 };
enum { TYPE_HOST = 1, TYPE_DEVICE = 2, READ_WRITE = 3 };

// answer writes an attribute of memory that is there.
static Result answer(void *data, int attribute, const Pointed *p) {
	if (p == NULL) {
		return INVALID_VALUE;
	}
	size_t step;
	switch (attribute) {
	case CONTEXT:
		*(void **)data = p->pool != 0 ? NULL : gaugeblock_context_of(p->from, p->device);
		return 0;
	case MEMORY_TYPE:
		*(unsigned *)data = p->on_host && !p->managed ? TYPE_HOST : TYPE_DEVICE;
		return 0;
	case HOST_POINTER:
		if (!p->on_host) {
			return INVALID_VALUE;
		}
		*(Ptr *)data = p->at;
		return 0;
	case DEVICE_POINTER:
		*(Ptr *)data = p->at;
		return 0;
	case RANGE_START:
	case MAPPING_BASE:
	case BUFFER_ID:
	case BLOCK_ID:
		*(Ptr *)data = p->from;
		return 0;
	case RANGE_SIZE:
		*(size_t *)data = p->bytes;
		return 0;
	case MAPPING_SIZE: // what is mapped in one piece
		step = p->registered ? 1 : p->pool != 0 ? POOL_STEP : STEP;
		*(size_t *)data = (p->bytes + step - 1) / step * step;
		return 0;
	case ORDINAL:
		*(int *)data = p->device;
		return 0;
	case IS_MANAGED:
		*(int *)data = p->managed;
		return 0;
	case ACCESS_FLAGS:
		*(int *)data = READ_WRITE;
		return 0;
	case MAPPED:
		*(int *)data = 1;
		return 0;
	case LEGACY_IPC:
	case GPU_DIRECT_RDMA:
		*(int *)data = !p->on_host && p->pool == 0;
		return 0;
	case SYNC_MEMOPS:
		*(int *)data = p->managed;
		return 0;
	case HANDLE_TYPES:
		*(uint64_t *)data = 0;
		return 0;
	case MEMPOOL:
		*(uint64_t *)data = p->pool;
		return 0;
	}
	return gaugeblock_lacks("an attribute of a pointer other than what is there");
}

API cuPointerGetAttribute(void *data, int attribute, Ptr ptr) {
	Pointed p;
	int r = look(ptr, &p);
	if (data == NULL || r != 0 || !p.there) {
		return r != 0 ? r : INVALID_VALUE;
	}
	return answer(data, attribute, &p);
}

// cuPointerGetAttributes answers what is there, and of other attributes that there is nothing.
API cuPointerGetAttributes(unsigned count, int *attributes, void **data, Ptr ptr) {
	if (attributes == NULL || data == NULL) {
		return INVALID_VALUE;
	}
	Pointed p;
	int r = look(ptr, &p);
	for (unsigned i = 0; r == 0 && i < count; i++) {
		if (p.there && answer(data[i], attributes[i], &p) == 0) {
			continue;
		}
		switch (attributes[i]) {
		case ORDINAL:
			*(int *)data[i] = -2;
			break;
		case MEMORY_TYPE:
		case SYNC_MEMOPS:
		case IS_MANAGED:
		case LEGACY_IPC:
		case MAPPED:
		case GPU_DIRECT_RDMA:
		case ACCESS_FLAGS:
			*(int *)data[i] = 0;
			break;
		default:
			*(uint64_t *)data[i] = 0;
		}
	}
	return r;
}

API cuPointerSetAttribute(const void *value, int attribute, Ptr ptr) {
	Pointed p;
	int r = look(ptr, &p);
	(void)value;
	return r != 0 ? r : attribute == SYNC_MEMOPS && p.there ? 0 : INVALID_VALUE;
}

// Managed memory.

enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2 };

API cuMemAllocManaged(Ptr *ptr, size_t bytes, unsigned flags) {
	CURRENT(device)
	(void)device;
	if (ptr == NULL || bytes == 0 || (flags != ATTACH_GLOBAL && flags != ATTACH_HOST)) {
		return INVALID_VALUE;
	}
	void *made;
	int r = gaugeblock_host_alloc(&made, bytes, HOST_MANAGED, flags);
	*ptr = P(made);
	return r;
}

// managed finds managed memory that has all of a range.
static int managed(Ptr ptr, size_t bytes, HostMemory *h) {
	return gaugeblock_host_find((void *)ptr, h) && h->kind == HOST_MANAGED && bytes <= h->to - ptr;
}

API cuMemPrefetchAsync_v2(Ptr ptr, size_t bytes, Location to, unsigned flags, void *stream) {
	HostMemory h;
	ON(stream, number, device)
	(void)number, (void)device;
	if (flags != 0 || bytes == 0 || to.type < PLACE_DEVICE || to.type > PLACE_NEAREST_NODE || !managed(ptr, bytes, &h)) {
		return INVALID_VALUE;
	}
	if (to.type == PLACE_DEVICE && gaugeblock_device_there(to.id) != 0) {
		return INVALID_DEVICE;
	}
	h.fetched = to.type == PLACE_DEVICE ? to.id : ON_HOST;
	gaugeblock_host_change((void *)ptr, &h);
	return 0;
}

API cuMemPrefetchAsync(Ptr ptr, size_t bytes, int device, void *stream) {
	Location to = {device < 0 ? PLACE_HOST : PLACE_DEVICE, device};
	return cuMemPrefetchAsync_v2(ptr, bytes, to, 0, stream);
}

enum { READ_MOSTLY = 1, NOT_READ_MOSTLY, PREFER, PREFER_NONE, ACCESSED_BY, NOT_ACCESSED_BY };

API cuMemAdvise_v2(Ptr ptr, size_t bytes, int advice, Location place) {
	HostMemory h;
	if (bytes == 0 || !managed(ptr, bytes, &h)) {
		return INVALID_VALUE;
	}
	switch (advice) {
	case READ_MOSTLY:
	case NOT_READ_MOSTLY:
		h.mostly_read = advice == READ_MOSTLY;
		break;
	case PREFER:
		h.preferred = place.type == PLACE_DEVICE ? place.id : ON_HOST;
		break;
	case PREFER_NONE:
		h.preferred = NOWHERE;
		break;
	case ACCESSED_BY:
	case NOT_ACCESSED_BY:
		break;
	default:
		return INVALID_VALUE;
	}
	gaugeblock_host_change((void *)ptr, &h);
	return 0;
}

API cuMemAdvise(Ptr ptr, size_t bytes, int advice, int device) {
	Location place = {device < 0 ? PLACE_HOST : PLACE_DEVICE, device};
	return cuMemAdvise_v2(ptr, bytes, advice, place);
}

enum { RANGE_READ_MOSTLY = 1, RANGE_PREFERRED, RANGE_ACCESSED_BY, RANGE_FETCHED };

API cuMemRangeGetAttribute(void *data, size_t size, int attribute, Ptr ptr, size_t bytes) {
	HostMemory h;
	if (data == NULL || size < sizeof(int) || !managed(ptr, bytes, &h)) {
		return INVALID_VALUE;
	}
	memset(data, 0, size);
	switch (attribute) {
	case RANGE_READ_MOSTLY:
		*(int *)data = h.mostly_read;
		return 0;
	case RANGE_PREFERRED:
		*(int *)data = h.preferred;
		return 0;
	case RANGE_FETCHED:
		*(int *)data = h.fetched;
		return 0;
	}
	return gaugeblock_lacks("an attribute of managed memory other than what is there");
}

API cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, Ptr ptr, size_t bytes) {
	if (data == NULL || sizes == NULL || attributes == NULL) {
		return INVALID_VALUE;
	}
	int r = 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], ptr, bytes);
	}
	return r;
}

API cuStreamAttachMemAsync(void *stream, Ptr ptr, size_t bytes, unsigned flags) {
	HostMemory h;
	ON(stream, number, device)
	(void)number, (void)device, (void)flags;
	return managed(ptr, bytes, &h) ? 0 : INVALID_VALUE;
}

UNVERSIONED(cuMemGetAddressRange)
