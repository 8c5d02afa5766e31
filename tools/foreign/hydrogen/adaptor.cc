// Hydrogen's (LLNL's Elemental) pool of pinned memory with PyTorch's pluggable ABI. It knows no streams.
#include <cuda_runtime.h>

#include "El/core/MemoryPool.hpp"

#include <sys/types.h>

namespace {
auto &pool = *new El::MemoryPool<true>;
}

extern "C" void *el_malloc(ssize_t bytes, int, cudaStream_t) try {
	return pool.Allocate(size_t(bytes));
} catch (const std::exception &) {
	cudaGetLastError();
	return nullptr;
}

extern "C" void el_free(void *p, ssize_t, int, cudaStream_t) { pool.Free(p); }

extern "C" void el_empty_cache() { pool.FreeAllUnused(); }
