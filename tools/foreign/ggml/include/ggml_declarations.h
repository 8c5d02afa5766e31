// What the texts of ggml's pools that build.sh cuts out ask of the rest of ggml.
#pragma once
#include <cuda_runtime_api.h>

#include <atomic>
#include <cassert>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

// ggml ends the program when a call fails. A refused request is not worth that here: the
// adaptor says that there is no memory.
struct refused {};
#define CUDA_CHECK(call) \
	do { \
		const cudaError_t e_ = (call); \
		if (e_ == cudaErrorMemoryAllocation) { \
			(void)cudaGetLastError(); \
			throw refused{}; \
		} \
		if (e_ != cudaSuccess) { \
			std::fprintf(stderr, "ggml: %s: %s\n", #call, cudaGetErrorString(e_)); \
			std::abort(); \
		} \
	} while (0)
#define GGML_ASSERT(x) \
	do { \
		if (!(x)) { \
			std::fprintf(stderr, "GGML_ASSERT(%s) failed\n", #x); \
			std::abort(); \
		} \
	} while (0)
#define GGML_LOG_INFO(...)
#define GGML_LOG_WARN(...)
#define GGML_LOG_DEBUG(...)
#define GGML_CUDA_NAME "CUDA"
#define GGML_CUDA_MAX_DEVICES 16

extern "C" cudaError_t cudaMallocManaged(void **ptr, size_t bytes, unsigned flags);
inline cudaError_t cudaMallocManaged(void **ptr, size_t bytes) { return cudaMallocManaged(ptr, bytes, 1); }

// Newer versions have devices that share a card; here none do.
inline int ggml_cuda_get_physical_device(int device) { return device; }
