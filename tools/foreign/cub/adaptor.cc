// CUB's CachingDeviceAllocator behind PyTorch's pluggable ABI. Its callers have no
// record_stream: they make the allocation's stream wait for all others before they free.
#define __host__
#define __device__
#define __forceinline__ inline
#include <cuda_runtime_api.h>

#include <cub/util_allocator.cuh>

#include <cstdio>
#include <sys/types.h>

namespace {
// The object lives until the process ends: its destructor would call CUDA after the runtime.
cub::CachingDeviceAllocator &allocator() {
	static auto *a = new cub::CachingDeviceAllocator(/*bin_growth=*/8, /*min_bin=*/3, /*max_bin=*/7, /*max_cached_bytes=*/256 << 20);
	return *a;
}
} // namespace

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	void *p = nullptr;
	return allocator().DeviceAllocate(device, &p, size, stream) == cudaSuccess ? p : nullptr;
}

extern "C" void my_free(void *p, ssize_t, int device, cudaStream_t) {
	const cudaError_t e = allocator().DeviceFree(device, p);
	if (e != cudaSuccess) std::fprintf(stderr, "DeviceFree: %s\n", cudaGetErrorName(e)); // the ABI cannot say it
}

extern "C" void my_empty_cache() { allocator().FreeAllCached(); }
