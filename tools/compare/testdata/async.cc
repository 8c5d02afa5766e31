// The driver's own pool as an allocator. It keeps what it has, as PyTorch's backend cudaMallocAsync
// does: the release threshold of the pool is the largest possible one.
#include <cuda_runtime.h>
#include <sys/types.h>

extern "C" void async_init(int devices) {
  for (int device = 0; device < devices; device++) {
    cudaMemPool_t pool;
    unsigned long long all = ~0ULL;
    if (cudaDeviceGetDefaultMemPool(&pool, device) == cudaSuccess)
      cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  }
}

extern "C" void* async_malloc(ssize_t size, int device, cudaStream_t stream) {
  void* memory = nullptr;
  if (cudaSetDevice(device) != cudaSuccess || cudaMallocAsync(&memory, size, stream) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

extern "C" void async_free(void* memory, ssize_t, int, cudaStream_t stream) { cudaFreeAsync(memory, stream); }

extern "C" void async_empty_cache() {
  cudaMemPool_t pool;
  if (cudaDeviceSynchronize() == cudaSuccess && cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess) cudaMemPoolTrimTo(pool, 0);
}
