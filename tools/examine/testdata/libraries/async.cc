// An allocator over the driver's own pool. With FAULT in the environment it frees on a stream that
// waits for nothing.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	void *ptr = nullptr;
	if (cudaSetDevice(device) != cudaSuccess) return nullptr;
	return cudaMallocAsync(&ptr, size, stream) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t stream) {
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
