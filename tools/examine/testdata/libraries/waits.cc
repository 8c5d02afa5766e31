// An allocator that keeps freed memory by device and size, for any stream: the free records an
// event in the stream that it names, and whoever gets the memory next waits for the event. FAULT in
// the environment plants a fault.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fault.h"

struct Kept {
	void *ptr;
	cudaEvent_t event;
};
static std::mutex mutex;
static std::map<std::pair<int, size_t>, std::vector<Kept>> cache;

static size_t rounded(ssize_t size) { return (size_t(size) + 511) / 512 * 512; }

static void empty() {
	for (auto &c : cache) {
		for (Kept &k : c.second) {
			cudaEventDestroy(k.event);
			cudaFree(k.ptr);
		}
	}
	cache.clear();
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	auto &free = cache[{device, rounded(size)}];
	if (!free.empty()) {
		Kept k = free.back();
		free.pop_back();
		cudaStreamWaitEvent(fault("waits_on_default_stream") ? nullptr : stream, k.event, 0);
		cudaEventDestroy(k.event);
		return k.ptr;
	}
	void *ptr = nullptr;
	if (cudaMalloc(&ptr, rounded(size)) == cudaSuccess) return ptr;
	cudaGetLastError(); // it is dealt with
	empty();
	return cudaMalloc(&ptr, rounded(size)) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	Kept k = {ptr, nullptr};
	cudaEventCreateWithFlags(&k.event, cudaEventDisableTiming);
	cudaEventRecord(k.event, stream);
	cache[{device, rounded(size)}].push_back(k);
}

extern "C" void my_empty_cache() {
	std::lock_guard<std::mutex> guard(mutex);
	empty();
}
