// What the files of the runtime's interface have in common.
#ifndef RUNTIME_H
#define RUNTIME_H

#include "driver.h"

typedef int Error;

#define ended gaugeblock_ended

#define DO(operation) ended(gaugeblock_do(GAUGEBLOCK_##operation, w))
#define ON(stream, number, device) \
	uint64_t number, device; \
	{ \
		int r_ = gaugeblock_stream(stream, gaugeblock_current_runtime(), &number, &device); \
		if (r_ != 0) { \
			return ended(r_); \
		} \
	}
#define CURRENT ((uint64_t)gaugeblock_current_runtime())

// Functions of the driver that ask for a current context: the runtime makes device 0 current first.
#define DRIVER(call) (gaugeblock_current_runtime(), gaugeblock_ended(call))

GAUGEBLOCK_API int cuCtxEnablePeerAccess(void *peer, unsigned flags);
GAUGEBLOCK_API int cuCtxSetCurrent(void *context);
GAUGEBLOCK_API int cuDeviceGetAttribute(int *value, int attribute, int device);
GAUGEBLOCK_API int cuMemFree_v2(Ptr ptr);
GAUGEBLOCK_API int cuMemAllocManaged(Ptr *ptr, size_t bytes, unsigned flags);
GAUGEBLOCK_API int cuMemPrefetchAsync_v2(Ptr ptr, size_t bytes, Location to, unsigned flags, void *stream);
GAUGEBLOCK_API int cuMemAdvise_v2(Ptr ptr, size_t bytes, int advice, Location place);
GAUGEBLOCK_API int cuMemRangeGetAttribute(void *data, size_t size, int attribute, Ptr ptr, size_t bytes);
GAUGEBLOCK_API int cuMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, Ptr ptr, size_t bytes);
GAUGEBLOCK_API int cuStreamAttachMemAsync(void *stream, Ptr ptr, size_t bytes, unsigned flags);
GAUGEBLOCK_API int cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags);
GAUGEBLOCK_API int cuMemHostGetFlags(unsigned *flags, void *ptr);
GAUGEBLOCK_API int cuMemHostGetDevicePointer_v2(Ptr *device, void *host, unsigned flags);
GAUGEBLOCK_API int cuDeviceGetDefaultMemPool(void **pool, int device);
GAUGEBLOCK_API int cuDeviceGetMemPool(void **pool, int device);
GAUGEBLOCK_API int cuDeviceSetMemPool(int device, void *pool);
GAUGEBLOCK_API int cuMemPoolCreate(void **pool, const void *properties);
GAUGEBLOCK_API int cuMemPoolDestroy(void *pool);
GAUGEBLOCK_API int cuMemAllocFromPoolAsync(Ptr *ptr, size_t bytes, void *pool, void *stream);
GAUGEBLOCK_API int cuMemAllocAsync(Ptr *ptr, size_t bytes, void *stream);
GAUGEBLOCK_API int cuMemFreeAsync(Ptr ptr, void *stream);
GAUGEBLOCK_API int cuMemPoolTrimTo(void *pool, size_t keep);
GAUGEBLOCK_API int cuMemPoolExportToShareableHandle(void *handle, void *pool, int type, unsigned long long flags);
GAUGEBLOCK_API int cuMemPoolImportFromShareableHandle(void **pool, void *handle, int type, unsigned long long flags);
GAUGEBLOCK_API int cuMemPoolExportPointer(void *data, uint64_t ptr);
GAUGEBLOCK_API int cuMemPoolImportPointer(uint64_t *ptr, void *pool, const void *data);
GAUGEBLOCK_API int cuMemPoolGetAttribute(void *pool, int attribute, void *value);
GAUGEBLOCK_API int cuMemPoolSetAttribute(void *pool, int attribute, void *value);
GAUGEBLOCK_API int cuMemPoolSetAccess(void *pool, const Access *access, size_t count);
GAUGEBLOCK_API int cuMemGetDefaultMemPool(void **pool, const Location *place, int type);
GAUGEBLOCK_API int cuMemGetMemPool(void **pool, const Location *place, int type);
GAUGEBLOCK_API int cuMemSetMemPool(const Location *place, int type, void *pool);

#endif
