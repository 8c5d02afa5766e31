// A cache for all streams: memory comes back by a function of the host behind the work of its stream. FAULT in the
// environment plants a fault; with SPINS the host asks the driver until all has come back.
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fault.h"

struct Memory {
	void *ptr;
	size_t bytes;
	int device;
};

struct OnDevice {
	int before = 0;
	explicit OnDevice(int device) { cudaGetDevice(&before), cudaSetDevice(device); }
	~OnDevice() { cudaSetDevice(before); }
};

static std::mutex mutex;
static std::map<std::pair<int, size_t>, std::vector<void *>> cache;
static int used;

static size_t rounded(ssize_t size) { return (size_t(size) + 511) / 512 * 512; }

static void comeBack(void *data) {
	Memory *m = static_cast<Memory *>(data);
	if (fault("calls_cuda")) cudaFree(m->ptr); // which is refused in such a function
	std::lock_guard<std::mutex> guard(mutex);  // the program may hold it while it calls CUDA
	used--;
	if (!fault("calls_cuda")) cache[{m->device, m->bytes}].push_back(m->ptr);
	delete m;
}

static bool allCameBack() {
	std::lock_guard<std::mutex> guard(mutex);
	return used == 0;
}

static void empty() {
	int devices = 0;
	cudaGetDeviceCount(&devices);
	for (int d = 0; d < devices && !std::getenv("SPINS"); d++) {
		OnDevice on(d);
		cudaDeviceSynchronize();
	}
	std::lock_guard<std::mutex> guard(mutex);
	for (auto &c : cache) {
		for (void *ptr : c.second) cudaFree(ptr);
	}
	cache.clear();
}

static void *find(size_t bytes, int device) {
	std::lock_guard<std::mutex> guard(mutex);
	auto &kept = cache[{device, bytes}];
	if (kept.empty()) return nullptr;
	void *ptr = kept.back();
	kept.pop_back();
	return ptr;
}

extern "C" void *my_malloc(ssize_t size, int device, cudaStream_t) {
	OnDevice on(device);
	void *ptr = find(rounded(size), device);
	if (ptr != nullptr || cudaMalloc(&ptr, rounded(size)) == cudaSuccess) return ptr;
	cudaGetLastError();
	empty();
	if (cudaMalloc(&ptr, rounded(size)) == cudaSuccess) return ptr;
	cudaGetLastError();
	return nullptr;
}

extern "C" void my_free(void *ptr, ssize_t size, int device, cudaStream_t stream) {
	OnDevice on(device);
	std::lock_guard<std::mutex> guard(mutex);
	used++;
	cudaLaunchHostFunc(fault("wrong_stream") ? cudaStreamPerThread : stream, comeBack, new Memory{ptr, rounded(size), device});
}

extern "C" void my_empty_cache() {
	while (std::getenv("SPINS") && !allCameBack()) cudaStreamQuery(nullptr);
	empty();
}
