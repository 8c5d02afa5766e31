// What cnmem needs of CUDA's runtime beside the declarations of the fake GPU's headers.
#pragma once
#include <gaugeblock_cuda.h>

extern "C" {
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags = 1);
cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device, cudaStream_t stream = nullptr);
}
