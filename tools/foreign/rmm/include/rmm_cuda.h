// What RMM and the parts of CCCL and Thrust that it includes need of CUDA's headers, in
// declarations of this project's own, beside what the fake GPU's headers have.
#pragma once

// The interface of CUDA 12, which all versions of RMM know: libcudart.so.12 is linked.
#define CUDART_VERSION 12090
#include <gaugeblock_cuda.h>

#include <mutex> // some versions get it by another header of CUDA's

#define CUDARTAPI

#define cudaStreamDefault 0x00 // a macro, which may be compared with a handle

enum cudaDeviceAttr {
	cudaDevAttrIntegrated = 18,
	cudaDevAttrPageableMemoryAccess = 88,
	cudaDevAttrConcurrentManagedAccess = 89,
	cudaDevAttrPageableMemoryAccessUsesHostPageTables = 100,
	cudaDevAttrMemoryPoolsSupported = 115,
	cudaDevAttrMemoryPoolSupportedHandleTypes = 119
};

enum { cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2 };
#define cudaMemPoolCreateUsageHwDecompress 2

extern "C" {
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags);
cudaError_t cudaMemAdvise(const void *ptr, size_t bytes, cudaMemoryAdvise advice, int device);
cudaError_t cudaMemPrefetchAsync(const void *ptr, size_t bytes, int device, cudaStream_t stream);
}

// Types of vectors, which CCCL specialises templates for.
#define RMM_VECTORS(name, type) \
	struct name##1 { type x; }; \
	struct name##2 { type x, y; }; \
	struct name##3 { type x, y, z; }; \
	struct name##4 { type x, y, z, w; };
RMM_VECTORS(char, signed char)
RMM_VECTORS(uchar, unsigned char)
RMM_VECTORS(short, short)
RMM_VECTORS(ushort, unsigned short)
RMM_VECTORS(int, int)
RMM_VECTORS(uint, unsigned int)
RMM_VECTORS(long, long)
RMM_VECTORS(ulong, unsigned long)
RMM_VECTORS(longlong, long long)
RMM_VECTORS(ulonglong, unsigned long long)
RMM_VECTORS(float, float)
RMM_VECTORS(double, double)
struct dim3 { unsigned x, y, z; };
