// MLX's allocator of CUDA memory with PyTorch's pluggable ABI: a cache by size over the driver's pool. It knows no
// streams: its callers free when the host has seen that the work is over.
#include "mlx/backend/cuda/allocator.h"
#include "mlx/memory.h"

#include <map>
#include <sys/types.h>

using namespace mlx::core;
namespace {
std::map<void *, allocator::Buffer> &live = *new std::map<void *, allocator::Buffer>;
}

extern "C" void *mlx_malloc(ssize_t bytes, int device, cudaStream_t stream) try {
	// nullptr, the legacy default stream, means managed memory to MLX, whose streams are never the default one
	allocator::Buffer b = cu::allocator().malloc_async(size_t(bytes), device, stream == nullptr ? cudaStreamLegacy : stream);
	void *p = static_cast<cu::CudaBuffer *>(b.ptr())->data;
	live.emplace(p, b);
	return p;
} catch (const std::exception &) {
	cudaGetLastError();
	return nullptr;
}

extern "C" void mlx_free(void *p, ssize_t, int, cudaStream_t) {
	auto at = live.find(p);
	cu::allocator().free(at->second);
	live.erase(at);
}

extern "C" void mlx_empty_cache() { mlx::core::clear_cache(); }
