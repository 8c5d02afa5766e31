// A cache of managed memory, or built with PINNED of pinned memory, by device and stream, into which the host
// writes. FAULT in the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <vector>

#include "fault.h"

static std::map<std::tuple<int, cudaStream_t, size_t>, std::vector<char *>> cache;

static size_t rounded(ssize_t size) { return (size_t(size) + 4095) / 4096 * 4096; }

static char *ask(size_t bytes) {
	void *ptr = nullptr;
#ifdef PINNED
	if (cudaHostAlloc(&ptr, bytes, cudaHostAllocMapped | cudaHostAllocPortable) != cudaSuccess) return nullptr;
#else
	if (cudaMallocManaged(&ptr, bytes, cudaMemAttachGlobal) != cudaSuccess) return nullptr;
#endif
	return static_cast<char *>(ptr);
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	auto &kept = cache[{device, fault("forgets_stream") ? nullptr : stream, rounded(size)}];
	if (!kept.empty()) {
		char *ptr = kept.back();
		kept.pop_back();
		if (fault("waits")) cudaStreamSynchronize(stream);
		if (fault("writes") || fault("waits")) ptr[0] = 1;
		if (fault("reads") && ptr[0] == 1) return ptr; // reading is against earlier writes only
		if (fault("fills_on_default_stream")) cudaMemset(ptr, 0, size_t(size));
		return ptr;
	}
	char *ptr = ask(rounded(size));
	if (ptr != nullptr) ptr[0] = ptr[size - 1] = 0; // nobody has used it
	return ptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, cudaStream_t stream) {
	cache[{device, fault("forgets_stream") ? nullptr : stream, rounded(size)}].push_back(static_cast<char *>(ptr));
}

extern "C" void my_empty_cache() {
	for (auto &c : cache) {
		for (char *ptr : c.second) {
#ifdef PINNED
			cudaFreeHost(ptr);
#else
			cudaFree(ptr);
#endif
		}
	}
	cache.clear();
}

#ifdef PINNED
extern "C" const char *gaugeblock_contract() { return "memory=host"; }
#else
extern "C" const char *gaugeblock_contract() { return "memory=managed"; }
#endif
