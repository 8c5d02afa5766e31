// An allocator over a pool of its own for each device. FAULT in the environment plants a fault; with REMAKES the
// pool is destroyed when the cache is emptied, also while memory of it is allocated, as CUDA allows.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fault.h"

static std::map<int, cudaMemPool_t> pools;
static int frees;

struct OnDevice {
	int before = 0;
	explicit OnDevice(int device) { cudaGetDevice(&before), cudaSetDevice(device); }
	~OnDevice() { cudaSetDevice(before); }
};

static cudaMemPool_t of(int device) {
	cudaMemPool_t &pool = pools[device];
	if (pool != nullptr) return pool;
	cudaMemPoolProps props = {};
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.location.id = device;
	uint64_t all = UINT64_MAX;
	if (cudaMemPoolCreate(&pool, &props) != cudaSuccess) return nullptr;
	cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
	return pool;
}

static cudaStream_t named(cudaStream_t stream) {
	if (stream != nullptr) return stream;
	return fault("own_default_stream") ? cudaStreamPerThread : cudaStreamLegacy;
}

// freeElsewhere frees on a new stream, behind the stream's work.
static void freeElsewhere(void *ptr, cudaStream_t stream) {
	cudaStream_t other;
	cudaEvent_t event;
	cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
	cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
	cudaEventRecord(event, named(stream));
	if (!fault("no_wait")) cudaStreamWaitEvent(other, event, 0);
	cudaFreeAsync(ptr, other);
	cudaEventDestroy(event);
	cudaStreamDestroy(other);
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t stream) {
	OnDevice on(device);
	void *ptr = nullptr;
	const size_t bytes = fault("truncates") ? size_t(int(size)) : size_t(size);
	return cudaMallocFromPoolAsync(&ptr, bytes, of(device), named(stream)) == cudaSuccess ? ptr : nullptr;
}

extern "C" void my_free(void *ptr, ssize_t, int device, cudaStream_t stream) {
	OnDevice on(device);
	frees++;
	if (fault("loses_one_in_5") && frees % 5 == 0) return;
	if (fault("frees_twice") && frees % 5 == 0) cudaFreeAsync(ptr, named(stream));
	if (fault("legacy_stream")) stream = cudaStreamLegacy;
	if (std::getenv("ELSEWHERE")) return freeElsewhere(ptr, stream);
	cudaFreeAsync(ptr, named(stream));
}

extern "C" void my_empty_cache() {
	for (auto &p : pools) {
		cudaMemPoolTrimTo(p.second, 0); // and waits for nothing
		if (std::getenv("REMAKES") == nullptr) continue;
		cudaMemPoolDestroy(p.second);
		if (!fault("keeps_the_pool")) p.second = nullptr;
	}
}
