// A cache by device, stream and size over the driver's interface, with the devices' primary contexts. FAULT in the
// environment plants a fault.
#include <cuda.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "fault.h"

static std::map<std::tuple<int, CUstream, size_t>, std::vector<CUdeviceptr>> cache;

static CUcontext of(int device) {
	static std::map<int, CUcontext> all;
	CUcontext &context = all[device];
	if (context == nullptr) cuDevicePrimaryCtxRetain(&context, device);
	return context;
}

struct InContext {
	explicit InContext(int device) { cuCtxPushCurrent(of(fault("first_device") ? 0 : device)); }
	~InContext() {
		CUcontext gone;
		if (!fault("never_pops")) cuCtxPopCurrent(&gone);
	}
};

static size_t rounded(ssize_t size) { return (size_t(size) + 511) / 512 * 512; }

static void empty() {
	for (auto &c : cache) {
		for (CUdeviceptr ptr : c.second) {
			cuMemFree(ptr);
			if (fault("frees_twice")) cuMemFree(ptr);
		}
	}
	cache.clear();
}

extern "C" void *my_malloc(ssize_t size, int device, CUstream stream) {
	InContext in(device);
	auto &kept = cache[{device, stream, rounded(size)}];
	CUdeviceptr ptr = 0;
	if (!kept.empty()) {
		ptr = kept.back();
		kept.pop_back();
		return reinterpret_cast<void *>(ptr);
	}
	if (cuMemAlloc(&ptr, rounded(size)) == CUDA_SUCCESS) return reinterpret_cast<void *>(ptr);
	empty();
	return cuMemAlloc(&ptr, rounded(size)) == CUDA_SUCCESS ? reinterpret_cast<void *>(ptr) : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, CUstream stream) {
	InContext in(device);
	cache[{device, fault("one_stream") ? nullptr : stream, rounded(size)}].push_back(reinterpret_cast<CUdeviceptr>(ptr));
}

extern "C" void my_empty_cache() { empty(); }
