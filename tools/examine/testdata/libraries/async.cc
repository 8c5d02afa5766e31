// An allocator over the driver's own pool. With FAULT in the environment it frees on a stream that
// waits for nothing. With CUTS it cuts up pieces of the pool, and never frees.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <map>
#include <utility>

// cut gives a part of a piece that is asked for when the one before is used up.
static void *cut(size_t size, int device) {
	static std::map<int, std::pair<char *, size_t>> rest;
	auto &r = rest[device];
	size = (size + 511) / 512 * 512;
	if (r.second < size) {
		const size_t piece = size > 8 << 20 ? size : 8 << 20;
		void *ptr = nullptr;
		if (cudaMallocAsync(&ptr, piece, cudaStreamLegacy) != cudaSuccess) return nullptr;
		cudaStreamSynchronize(cudaStreamLegacy);
		r = {(char *)ptr, piece};
	}
	r = {r.first + size, r.second - size};
	return r.first - size;
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	void *ptr = nullptr;
	if (cudaSetDevice(device) != cudaSuccess) return nullptr;
	if (std::getenv("CUTS")) return cut(size, device);
	return cudaMallocAsync(&ptr, size, stream) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t stream) {
	if (std::getenv("CUTS")) return;
	cudaSetDevice(device);
	if (!std::getenv("FAULT")) {
		cudaFreeAsync(ptr, stream);
		return;
	}
	cudaStream_t other;
	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaFreeAsync(ptr, other);
	cudaStreamDestroy(other);
}
