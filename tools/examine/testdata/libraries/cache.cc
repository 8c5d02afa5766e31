// A caching allocator of few lines: freed memory is kept by device, stream and size. FAULT in the
// environment plants a fault. Where it is built with CONTRACT, that is what the library says of itself.
#include <cuda_runtime.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "fault.h"

static std::mutex mutex;
static std::map<std::tuple<int, uint64_t, size_t>, std::vector<char *>> cache;

static size_t rounded(ssize_t size) { return (size_t(size) + 511) / 512 * 512; }

// name tells streams apart: with IDS in the environment also those that have the same handle one after
// the other.
static uint64_t name(cudaStream_t stream) {
	static const bool ids = std::getenv("IDS") != nullptr;
	if (!ids) return uint64_t(uintptr_t(stream));
	unsigned long long id = 0;
	cudaStreamGetId(stream, &id);
	return id;
}

static std::vector<char *> &kept(int device, cudaStream_t stream, ssize_t size) {
	return cache[{fault("forgets_device") ? 0 : device, fault("forgets_streams") ? 0 : name(stream), rounded(size)}];
}

// fill writes memory that the allocator holds, for FILL=malloc or FILL=free in the environment.
static char *fill(const char *when, char *ptr, ssize_t size, cudaStream_t stream) {
	static const char *planted = std::getenv("FILL");
	if (planted == nullptr || std::strcmp(planted, when) != 0) return ptr;
	static cudaStream_t other = nullptr;
	if (fault("fills_elsewhere") && other == nullptr) cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaMemsetAsync(ptr, 0xdd, size_t(size), fault("fills_elsewhere") ? other : stream);
	return ptr;
}

static void empty() {
	for (auto &c : cache) {
		for (char *ptr : c.second) cudaFree(ptr);
	}
	cache.clear();
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	if (fault("crashes") && size == 2 << 20) std::fprintf(stderr, "two mebibytes!\n"), std::abort();
	if (fault("hangs") && size == 2 << 20) for (;;) pause();
	auto &free = kept(device, stream, size);
	if (!free.empty()) {
		char *ptr = free.back();
		free.pop_back();
		return fill("malloc", ptr, size, stream);
	}
	if (cudaSetDevice(device) != cudaSuccess) return nullptr;
	char *ptr = nullptr;
	const size_t bytes = fault("truncates") ? unsigned(rounded(size)) : rounded(size);
	if (bytes == 0) return nullptr;
	if (cudaMalloc((void **)&ptr, bytes) == cudaSuccess) return fill("malloc", ptr, size, stream);
	if (!fault("keeps_error")) cudaGetLastError(); // or whoever looks next takes it for theirs
	if (fault("tries_once")) return nullptr;
	empty();
	if (cudaMalloc((void **)&ptr, bytes) == cudaSuccess) return ptr;
	if (fault("throws")) throw std::runtime_error("there is no memory");
	return nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> guard(mutex);
	if (fault("leaves_device")) cudaSetDevice(device);
	if (fault("loses") && size == 2 << 20) return;
	fill("free", (char *)ptr, size, stream);
	kept(device, stream, size).push_back((char *)ptr + (fault("shifts") && size == 2 << 20 ? 512 : 0));
}

extern "C" void my_empty_cache() {
	std::lock_guard<std::mutex> guard(mutex);
	empty();
}

#ifdef CONTRACT
extern "C" const char *gaugeblock_contract() { return CONTRACT; }
#endif
