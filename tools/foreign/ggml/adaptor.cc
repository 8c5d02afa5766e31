// ggml's pool of buffers ("legacy") with PyTorch's pluggable ABI. ggml uses a pool on one
// stream only, so each stream gets a pool; in the version without objects (GLOBAL) there is
// one pool for each device and one stream. As in ggml, the device of the last request stays
// current.
#include "ggml_declarations.h"

#include "pool.h" // cut out of ggml by build.sh

#include <map>
#include <mutex>

namespace {
std::mutex mutex;
auto &sizes = *new std::map<void *, size_t>; // as ggml's callers keep them
#ifndef GLOBAL
auto &pools = *new std::map<std::pair<int, cudaStream_t>, ggml_cuda_pool_leg *>;

ggml_cuda_pool_leg &pool(int device, cudaStream_t stream) {
	auto &p = pools[{device, stream}];
	if (p == nullptr) p = new ggml_cuda_pool_leg(device);
	return *p;
}
#endif
} // namespace

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> lock(mutex);
	(void)stream;
	size_t actual = 0;
	try {
#if GLOBAL == 1 // before 49e47713
		CUDA_CHECK(cudaSetDevice(device));
		void *p = ggml_cuda_pool_malloc_leg(bytes, &actual);
#elif GLOBAL == 2
		CUDA_CHECK(cudaSetDevice(device));
		void *p = ggml_cuda_pool_malloc_leg(device, bytes, &actual);
#else
		void *p = pool(device, stream).alloc(bytes, &actual);
#endif
		sizes[p] = actual;
		return p;
	} catch (refused) {
		return nullptr;
	}
}

extern "C" void my_free(void *p, ssize_t, int device, cudaStream_t stream) {
	std::lock_guard<std::mutex> lock(mutex);
	(void)device, (void)stream;
	const size_t actual = sizes[p];
	sizes.erase(p);
#if GLOBAL == 1
	ggml_cuda_pool_free_leg(p, actual);
#elif GLOBAL == 2
	ggml_cuda_pool_free_leg(device, p, actual);
#else
	pool(device, stream).free(p, actual);
#endif
}
