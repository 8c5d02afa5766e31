// ONNX Runtime's BFC arena over cudaMalloc, with PyTorch's pluggable ABI: one arena for each
// device. It knows of no streams: its callers use one.
#include <cuda_runtime_api.h>

#include "core/framework/bfc_arena.h"

#include <cstdio>
#include <map>
#include <sys/types.h>

namespace {

// Device obtains memory as ONNX Runtime's CUDA allocator does: it throws if there is none.
struct Device : onnxruntime::IAllocator {
	Device() : IAllocator(OrtMemoryInfo("Cuda", OrtAllocatorType::OrtDeviceAllocator)) {}
	void *Alloc(size_t bytes) override {
		void *p = nullptr;
		const cudaError_t e = cudaMalloc(&p, bytes);
		if (e == cudaErrorMemoryAllocation) cudaGetLastError();
		if (e != cudaSuccess) ORT_THROW("cudaMalloc: ", cudaGetErrorName(e));
		return p;
	}
	void Free(void *p) override { cudaFree(p); }
};

auto &arenas = *new std::map<int, onnxruntime::BFCArena *>;

onnxruntime::BFCArena &arena(int device) {
	cudaSetDevice(device);
	auto &a = arenas[device];
	if (a == nullptr) a = new onnxruntime::BFCArena(std::make_unique<Device>(), std::numeric_limits<size_t>::max());
	return *a;
}

} // namespace

extern "C" void *my_malloc(ssize_t bytes, int device, cudaStream_t) {
	try {
		return arena(device).Alloc(bytes);
	} catch (const onnxruntime::OnnxRuntimeException &) {
		return nullptr; // no memory
	}
}

extern "C" void my_free(void *p, ssize_t, int device, cudaStream_t) { arena(device).Free(p); }
