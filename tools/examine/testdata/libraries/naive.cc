// The least that PyTorch's CUDAPluggableAllocator takes: every request is one of the driver.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t) {
	void *ptr = nullptr;
	if (cudaSetDevice(device) != cudaSuccess) return nullptr;
	return cudaMalloc(&ptr, size) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int, cudaStream_t) {
	static const bool faulty = std::getenv("FAULT") != nullptr;
	if (faulty && size > 1 << 20) return; // large memory is forgotten
	cudaFree(ptr);
}

extern "C" void my_empty_cache() {} // nothing is kept
