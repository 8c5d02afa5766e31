// An allocator whose memory can be given up for a while: each allocation is a range of addresses with pages
// of its own. FAULT in the environment plants a fault.
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "fault.h"

struct Memory {
	size_t bytes;
	int device;
	CUmemGenericAllocationHandle page;
	bool there;
};
static std::map<CUdeviceptr, Memory> memory;

static bool have(CUdeviceptr at, Memory &m) {
	CUmemAllocationProp p = {};
	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = m.device;
	if (cuMemCreate(&m.page, m.bytes, &p, 0) != CUDA_SUCCESS) return false;
	CUmemAccessDesc access = {};
	access.location = p.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	const bool mapped = cuMemMap(at, m.bytes, 0, m.page, 0) == CUDA_SUCCESS;
	if (mapped && cuMemSetAccess(at, m.bytes, &access, 1) == CUDA_SUCCESS) return m.there = true;
	if (mapped) cuMemUnmap(at, m.bytes);
	cuMemRelease(m.page);
	return false;
}

static void give(CUdeviceptr at, Memory &m) {
	if (!m.there && !fault("unmaps_twice")) return;
	if (cuMemUnmap(at, m.bytes) != CUDA_SUCCESS) std::abort();
	if (!fault("keeps_pages")) cuMemRelease(m.page);
	m.there = false;
}

// idle waits for the work of a device.
static void idle(int device) {
	int before = 0;
	cudaGetDevice(&before);
	cudaSetDevice(device);
	cudaDeviceSynchronize();
	cudaSetDevice(before);
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t) {
	CUdeviceptr at = 0;
	Memory m = {(size_t(size) + (2 << 20) - 1) >> 21 << 21, device, 0, false};
	if (cuMemAddressReserve(&at, m.bytes, 0, 0, 0) != CUDA_SUCCESS) return nullptr;
	if (!have(at, m)) {
		cuMemAddressFree(at, m.bytes);
		return nullptr;
	}
	memory[at] = m;
	return (void *)at;
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t) {
	Memory m = memory.at(CUdeviceptr(ptr));
	memory.erase(CUdeviceptr(ptr));
	idle(device);
	give(CUdeviceptr(ptr), m);
	cuMemAddressFree(CUdeviceptr(ptr), m.bytes);
}

extern "C" void my_sleep() {
	for (auto &m : memory) {
		if (!fault("sleeps_at_once")) idle(m.second.device);
		give(m.first, m.second);
	}
}

extern "C" void my_wake() {
	bool first = true;
	for (auto &m : memory) {
		if (!(fault("forgets_one") && first)) have(m.first, m.second);
		first = false;
	}
}

extern "C" void my_end() {}
